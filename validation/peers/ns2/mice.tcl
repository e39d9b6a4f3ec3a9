# Short transfers among long ones, for ns-2: another side of validation/mice.py (Guo & Matta 2001, Table I).
#
#   20 senders -- 10 Mbit/s, 5 ms -- switch -- bottleneck, 40 ms -- switch -- 10 Mbit/s, 5 ms -- receiver
#
# As ns3/mice.cc, with ns-2's own one-way TCP. What is set differs from the defaults of ns-2.35 as the experiments' files say.
# Options are pairs of words, `ns mice.tcl queue 46 seed 1`; the program prints one line of JSON.

set payload 460; # bytes; headers take 40 more
array set option {
    mbps 1.25 queue 46 redMin 0 redMax 0 jitter 0 minRto 1 tick 0.1 limitedTransmit 0 ecn 1 delay 40ms time 500 seed 1
}
array set option $argv

Agent/TCP set packetSize_ $payload
Agent/TCP set window_ 128
Agent/TCP set minrto_ $option(minRto)
Agent/TCP set tcpTick_ $option(tick)
Agent/TCP set singledup_ $option(limitedTransmit)
Agent/TCP set ecn_ $option(ecn)

set ns [new Simulator]
set draw [new RNG]
$draw seed $option(seed)
set left [$ns node]
set right [$ns node]
set receiver [$ns node]

proc join_host {host to} {
    global ns draw
    # a host's link is longer by a time from U(0, 1 ms)
    $ns duplex-link $host $to 10Mb [expr 0.005 + [$draw uniform 0 0.001]] DropTail
    $ns queue-limit $host $to 100000
    $ns queue-limit $to $host 100000
}

proc join_switches {} {
    global ns left right option payload
    set kind [expr {$option(redMax) > 0 ? "RED" : "DropTail"}]
    if {$kind == "RED"} {
        Queue/RED set bytes_ false
        Queue/RED set queue_in_bytes_ false
        Queue/RED set setbit_ [expr {$option(ecn) ? "true" : "false"}]
        Queue/RED set thresh_ $option(redMin)
        Queue/RED set maxthresh_ $option(redMax)
        Queue/RED set q_weight_ [expr 1. / 512]
        Queue/RED set linterm_ 10
        Queue/RED set gentle_ true
        Queue/RED set mean_pktsize_ [expr $payload + 40]
    }
    $ns simplex-link $left $right [expr 1e6 * $option(mbps)] $option(delay) $kind
    $ns simplex-link $right $left [expr 1e6 * $option(mbps)] $option(delay) DropTail
    $ns queue-limit $left $right $option(queue)
    $ns queue-limit $right $left 100000
}

# A sender: the kind, size and period of its transfers, the present one, and whether the next waits for it.
Class Sender

Sender instproc init {kind packets period} {
    global ns left
    $self instvar kind_ packets_ period_ node_ tcp_ waits_
    set kind_ $kind
    set packets_ $packets
    set period_ $period
    set node_ [$ns node]
    set tcp_ ""
    set waits_ 0
    join_host $node_ $left
    $ns at 0 "$self wake"
}

Sender instproc wake {} {
    global ns option draw
    $self instvar period_ tcp_ waits_
    $ns at [expr [$ns now] + $period_] "$self wake"
    if {$tcp_ != ""} {
        set waits_ 1
    } else {
        $self launch [$draw uniform 0 $option(jitter)]
    }
}

Sender instproc launch {wait} {
    global ns receiver sender_of transfers
    $self instvar kind_ packets_ node_ tcp_
    set tcp_ [new Agent/TCP/Newreno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $node_ $tcp_
    $ns attach-agent $receiver $sink
    $ns connect $tcp_ $sink
    set sender_of($tcp_) $self
    lappend transfers($kind_) $tcp_
    $ns at [expr [$ns now] + $wait] "$tcp_ advanceby $packets_"
}

# ns-2 calls it when everything is acknowledged.
Agent/TCP instproc done {} {
    global sender_of
    $sender_of($self) next
}

Sender instproc next {} {
    $self instvar tcp_ waits_
    set tcp_ ""
    if {$waits_} {
        set waits_ 0
        $self launch 0
    }
}

proc finish {} {
    global transfers payload
    foreach kind {short long} {
        set packets 0
        set timeouts 0
        foreach tcp $transfers($kind) {
            incr packets [expr max(0, [$tcp set ack_])]; # number 0 is the SYN
            incr timeouts [$tcp set nrexmit_]
        }
        lappend all "\"$kind\": {\"delivered_bytes\": [expr $packets * $payload], \"launched\": [llength $transfers($kind)],\
            \"timeouts\": $timeouts}"
    }
    puts "{[join $all {, }]}"
    exit 0
}

join_switches
join_host $receiver $right
for {set i 0} {$i < 10} {incr i} {
    new Sender short 100 10
    new Sender long 10000 1
}
$ns at $option(time) finish
$ns run
