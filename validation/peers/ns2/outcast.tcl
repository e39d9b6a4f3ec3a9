# One 2-hop flow against twelve 6-hop flows on a fat-tree of k = 4, for ns-2: the other side of validation/queues.py.
#
# As the built-in scenario `outcast-1-to-12-ns2` has it, with ns-2's own TCP and queues. All paths to one host are a tree, and
# that tree is all that is built: two edge switches, an aggregation switch and a core's port of each pod; ACKs go back on it.
# Options are pairs of words, `ns outcast.tcl queue SFQ seed 1`; the program prints one line of JSON.

array set option {queue DropTail limit 30 buckets 4 lone 1 time 2 from 0.2 seed 1}
array set option $argv

Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 10000
Agent/TCP set minrto_ 0.002
Agent/TCP set tcpTick_ 0.000001
# a host needs up to 5 us for a segment
Agent/TCP set overhead_ 0.000005
Queue/SFQ set buckets_ $option(buckets)
Queue/SFQ set maxqueue_ $option(limit)
Queue/RED set thresh_ 5
Queue/RED set maxthresh_ 15
Queue/RED set q_weight_ 0.002
Queue/RED set mean_pktsize_ 1040
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false

set ns [new Simulator]
set draw [new RNG]
$draw seed $option(seed)

# A clock is up to 50 ppm fast or slow.
proc rate {} {
    global draw
    return [expr 1e9 * (1 + [$draw uniform -50 50] / 1e6)]
}

# Both directions between switches: the far one needs 25 us for a packet.
proc join_switches {a b} {
    global ns option
    foreach {from to} [list $a $b $b $a] {
        $ns simplex-link $from $to [rate] 25us $option(queue)
        $ns queue-limit $from $to $option(limit)
    }
}

# A host's stack takes 30 us and a constant of its own, up to 20 us, each way.
proc join_host {host edge} {
    global ns option draw
    set stack [expr 30e-6 + [$draw uniform 0 20e-6]]
    $ns simplex-link $host $edge [rate] [expr $stack + 25e-6] DropTail
    $ns queue-limit $host $edge 100000
    $ns simplex-link $edge $host [rate] $stack $option(queue)
    $ns queue-limit $edge $host $option(limit)
}

# ns-2's SFQ hashes the sum of the addresses, which are the nodes' numbers in the order of their making: of the senders 1 to 13
# to host 0 those of 1, 5, 9 and 13 share a bucket, and three others each of the rest. `lone` is the number of the 2-hop one.
set receiver [$ns node]
for {set i 1} {$i <= 13} {incr i} {
    set host($i) [$ns node]
}
set edge0 [$ns node]
set pod0 [$ns node]
set core [$ns node]
join_host $receiver $edge0
join_host $host($option(lone)) $edge0
join_switches $edge0 $pod0
join_switches $pod0 $core
set far {}
for {set i 1} {$i <= 13} {incr i} {
    if {$i != $option(lone)} {
        lappend far $i
    }
}
for {set pod 1} {$pod <= 3} {incr pod} {
    set aggregation [$ns node]
    join_switches $aggregation $core
    for {set edge 0} {$edge < 2} {incr edge} {
        set switch [$ns node]
        join_switches $switch $aggregation
        foreach i [lrange $far 0 1] {
            join_host $host($i) $switch
        }
        set far [lrange $far 2 end]
    }
}

for {set i 1} {$i <= 13} {incr i} {
    set tcp($i) [new Agent/TCP/Newreno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $host($i) $tcp($i)
    $ns attach-agent $receiver $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [$draw uniform 0 0.01] "$ftp start"
}

proc note {} {
    global tcp before
    for {set i 1} {$i <= 13} {incr i} {
        set before($i) [$tcp($i) set ack_]
    }
}

proc finish {} {
    global tcp before option
    for {set i 1} {$i <= 13} {incr i} {
        set delivered [expr [$tcp($i) set ack_] - $before($i)]
        set row "\"goodput_bps\": [expr 8000. * $delivered / ($option(time) - $option(from))], \"timeouts\": [$tcp($i) set nrexmit_]"
        if {$i == $option(lone)} {
            set lone "{$row}"
        } else {
            lappend others "{$row}"
        }
    }
    puts "{\"lone\": $lone, \"others\": \[[join $others {, }]\]}"
    exit 0
}

$ns at $option(from) note
$ns at $option(time) finish
$ns run
