//! The runner: what passes, and what is said of what does not.

use std::fmt::Write;

use fairport_drill::{Failure, FailureKind, Options, Outcome, SetupError, parse, run};
use proptest::prelude::*;

const OPEN: &str = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
";

fn outcome(text: &str) -> Outcome {
    let options = Options {
        stack: Some("linux-2.6".to_owned()),
        ..Options::default()
    };
    run(&parse(text).unwrap(), &options).unwrap()
}

/// The failure of a script that goes on from an open connection; its lines count from 7.
fn failure(rest: &str) -> Failure {
    outcome(&format!("{OPEN}{rest}")).failure.expect(rest)
}

fn passes(rest: &str) {
    assert_eq!(outcome(&format!("{OPEN}{rest}")).failure, None, "{rest}");
}

#[test]
fn a_burst_equals_one_larger_segment_and_its_parts() {
    passes("+0 write(4, ..., 3000) = 3000\n+0 > . 1:3001(3000) ack 1");
    passes(
        "+0 write(4, ..., 3000) = 3000\n+0 > . 1:2001(2000) ack 1\n+0 > . 2001:3001(1000) ack 1",
    );
    passes("+0 write(4, ..., 3000) = 3000\n+0 > . 1:501(500) ack 1\n+0 > . 501:1001(500) ack 1");
    // but not what was sent later
    let it = failure(
        "+0 write(4, ..., 500) = 500\n+.1 < . 1:1(0) ack 501 win 257\n\
                      +0 write(4, ..., 500) = 500\n-0 > . 1:1001(1000) ack 1"
            .replace("-0", "+0")
            .as_str(),
    );
    assert_eq!(it.kind, FailureKind::Segment);
}

#[test]
fn a_part_of_a_segment_alone_is_not_that_segment() {
    let it = failure("+0 write(4, ..., 1000) = 1000\n+0 > . 1:901(900) ack 1");
    assert_eq!((it.kind, it.line), (FailureKind::Segment, 8));
    assert!(
        it.actual
            .starts_with("it went on: sent `> . 901:1001(100) ack 1"),
        "{it}"
    );
}

#[test]
fn another_segment_is_shown_beside_the_expected_one() {
    let it = failure("+0 write(4, ..., 1000) = 1000\n+0 > . 1:901(900) ack 1 win 7");
    assert_eq!((it.kind, it.line), (FailureKind::Segment, 8));
    assert_eq!(it.expected, "`> . 1:901(900) ack 1 win 7`");
    let it = failure("+0 write(4, ..., 1000) = 1000\n+0 > F. 1:1001(1000) ack 1");
    assert!(
        it.actual
            .starts_with("other flags: sent `> . 1:1001(1000) ack 1"),
        "{it}"
    );
    let it = failure("+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 2");
    assert!(
        it.actual.starts_with("another acknowledgement number"),
        "{it}"
    );
    let it = failure("+0 write(4, ..., 1000) = 1000\n+0 > . 2:1002(1000) ack 1");
    assert!(it.actual.starts_with("another sequence number"), "{it}");
    let it = failure("+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1 <nop,eol>");
    assert!(it.actual.starts_with("other options"), "{it}");
}

#[test]
fn silence_and_bad_timing_are_told_apart() {
    let it = failure("+0 > . 1:1001(1000) ack 1");
    assert_eq!(it.kind, FailureKind::Silence);
    assert_eq!(it.actual, "nothing was sent until 0.104000 s");
    // the timer fires after 300 ms
    let timer = "+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n";
    passes(&format!("{timer}+.302 > . 1:1001(1000) ack 1"));
    passes(&format!("{timer}+.2~+.297 > . 1:1001(1000) ack 1"));
    passes(&format!("{timer}* > . 1:1001(1000) ack 1"));
    let it = failure(&format!("{timer}+.305 > . 1:1001(1000) ack 1"));
    assert_eq!((it.kind, it.line), (FailureKind::Time, 9));
    assert_eq!(it.actual, "it was sent at 0.400000 s");
    let text = format!("--tolerance_usecs=5000\n{OPEN}{timer}+.305 > . 1:1001(1000) ack 1");
    assert_eq!(outcome(&text).failure, None);
}

#[test]
fn an_event_after_a_range_counts_from_what_happened() {
    let timer = "+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n";
    // the first timer fires at +.3, the second .6 after it
    passes(&format!(
        "{timer}+.1~+.4 > . 1:1001(1000) ack 1\n+.6 > . 1:1001(1000) ack 1"
    ));
}

#[test]
fn a_false_assertion_shows_its_values() {
    let it = failure("+0 %{\nassert tcpi_snd_cwnd == 10\nassert 1 < tcpi_snd_cwnd < 5, 'x'\n}%");
    assert_eq!((it.kind, it.line), (FailureKind::Assertion, 9));
    assert_eq!(it.expected, "1 < tcpi_snd_cwnd < 5");
    assert_eq!(it.actual, "tcpi_snd_cwnd = 10");
    let it = failure("+0 %{ assert tcpi_nonsense == 1 }%");
    assert_eq!(it.kind, FailureKind::Unsupported);
}

#[test]
fn expressions_follow_pythons_rules() {
    passes(
        "+0 %{ x = 2 + 3 * 4; assert x == 14; x -= 4; assert x % 4 == 2 and not x == 9\n\
         assert (7 // 2, 1) and 1 or 0 }%"
            .replace(
                "assert (7 // 2, 1) and 1 or 0",
                "assert 7 // 2 == 3 and -7 // 2 == -4",
            )
            .as_str(),
    );
    passes(
        "+0 %{ assert abs(0 - 3) == max(1, 3) and (6 & 3) == 2 and 6 | 1 == 7 and 0x10 == 16 }%",
    );
    let it = failure("+0 %{ assert 1 / 0 }%");
    assert_eq!(it.actual, "division by zero");
}

#[test]
fn a_call_that_returns_otherwise_is_a_failure() {
    let it = failure("+0 read(4, ..., 10) = 5");
    assert_eq!((it.kind, it.line), (FailureKind::Call, 7));
    assert_eq!(it.actual, "it returned -1 EAGAIN");
    let it = failure("+0 write(9, ..., 10) = 10");
    assert_eq!(it.actual, "it returned -1 EBADF");
    let it = failure("+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [900], [4]) = 0");
    assert_eq!(it.actual, "it is 1000");
}

#[test]
fn what_is_not_modelled_fails_with_that_reason_whatever_its_arguments_are() {
    for (call, reason) in [
        ("epoll_wait(4, ...) = 1", "`epoll_wait` is not modelled"),
        ("ioctl(9, SIOCINQ, [0]) = 0", "`ioctl` is not modelled"),
        (
            "sendfile(..., 4, [0], 100) = 100",
            "`sendfile` is not modelled",
        ),
        (
            "sendto(4, ..., 100, MSG_FASTOPEN, ..., ...) = 100",
            "TCP Fast Open is not modelled",
        ),
        (
            "socket(..., SOCK_STREAM, IPPROTO_TCP) = 5\n+0 connect(5, ..., ...) = 0",
            "a second connection is not modelled",
        ),
    ] {
        let it = failure(&format!("+0 {call}"));
        assert_eq!(it.kind, FailureKind::Unsupported, "{call}");
        assert_eq!(it.actual, reason, "{call}");
    }
}

#[test]
fn a_connect_that_blocks_returns_when_the_handshake_is_over() {
    let script = |end: &str| {
        format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+.1...{end} connect(3, ..., ...) = 0\n\
             +0 > S 0:0(0) <...>\n+.05 < S. 0:0(0) ack 1 win 9000 <mss 1000>\n+0 > . 1:1(0) ack 1\n\
             +1 write(3, ..., 10) = 10"
        )
    };
    assert_eq!(outcome(&script("0.150")).failure, None);
    let it = outcome(&script("0.250")).failure.unwrap();
    assert_eq!((it.kind, it.line), (FailureKind::Call, 2));
}

#[test]
fn what_is_not_taken_into_account_is_listed() {
    let text = format!(
        "--local_ip=10.0.0.1\n`tc qdisc add`\n{OPEN}+0 setsockopt(4, SOL_TCP, TCP_X, [1], 4) = 0"
    );
    let notes = outcome(&text).notes;
    let lines: Vec<u32> = notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [1, 2, 9]);
}

#[test]
fn a_stack_that_does_not_exist_is_named() {
    let script =
        parse("// fairport: stack plan9\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n").unwrap();
    let error = run(&script, &Options::default()).unwrap_err();
    assert!(matches!(&error, SetupError::Stack { name, .. } if name == "plan9"));
    assert!(error.to_string().contains("linux-2.6"));
    let script =
        parse("--tolerance_usecs=much\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n").unwrap();
    assert!(run(&script, &Options::default()).is_err());
}

#[test]
fn a_call_without_arguments_or_with_the_largest_ones_is_run() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = -1\n+0 shutdown() = 0";
    assert_eq!(outcome(text).failure, None);
    let largest = i64::MAX;
    passes(&format!(
        "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [{largest}], 4) = 0\n\
         +0 getsockopt(4, SOL_SOCKET, SO_SNDBUF, [{largest}], [4]) = 0"
    ));
}

#[test]
fn flags_joined_by_bars_are_found_however_many_they_are() {
    let more = "X|".repeat(100_000);
    passes(&format!(
        "+0 send(4, ..., 10, {more}MSG_MORE) = 10\n+.1 < . 1:1(0) ack 1 win 257"
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whatever the peer and the application do in whatever order, the runner comes to its end.
    #[test]
    fn no_sequence_of_events_makes_the_runner_panic(
        events in prop::collection::vec((prop::sample::select(vec![
            "write(4, ..., 3500) = ...", "send(4, ..., 700, MSG_EOR) = ...", "send(4, ..., 70, MSG_MORE) = ...",
            "close(4) = ...", "shutdown(4, SHUT_WR) = ...", "read(4, ..., 500) = ...", "write(4, ..., 30) = ...",
            "< . 1:1001(1000) ack 1 win 257", "< F. 1:1(0) ack 1 win 257", "< . 1:1(0) ack 1001 win 0",
            "< . 1:1(0) ack 3001 win 257 <sack 4001:5001>", "< R. 1:1(0) ack 1", "< S 0:0(0) win 1 <mss 1>",
            "< FSRPUEW. 4294967295:99(100) ack 4294967295 win 65535", "< - 1:1(0)", "< . 5001:5001(0) ack 99999",
            "setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = ...",
            "setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = ...",
            "< . 2001:3001(1000) ack 1 win 9 <sack 1:2 3:4 5:6 7:8>", "%{ assert tcpi_snd_cwnd > 0 }%",
            "< F. 1001:2001(1000) ack 1 win 257", "< . 1:1(0) ack 1 win 257 <sack 1001:2001 3001:4001>",
        ]), 0..4_u32), 0..30)
    ) {
        let mut text = OPEN.to_owned();
        for (event, tenths) in &events {
            writeln!(text, "+.{tenths} {event}").unwrap();
        }
        prop_assert_eq!(outcome(&text).failure, None);
    }
}

/// As `accept`: the script says when it returns.
#[test]
fn a_blocked_accept4_returns_when_the_connection_is_there() {
    let script = |returns: &str| {
        let text = format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
             +0 listen(3, 1) = 0
             +0...{returns} accept4(3, ..., ..., SOCK_NONBLOCK) = 4
             +.1 < S 0:0(0) win 1000 <mss 1000>
             +0 > S. 0:0(0) ack 1 <...>
             +.1 < . 1:1(0) ack 1 win 1000
             +1 write(4, ..., 10) = 10
             +0 > . 1:11(10) ack 1"
        );
        outcome(&text).failure.map(|it| (it.kind, it.line))
    };
    assert_eq!(script("0.2"), None);
    assert_eq!(script("0.5"), Some((FailureKind::Call, 3)));
}

/// A queue without room drops a SYN, which is sent again after its timeout.
#[test]
fn a_full_queue_of_the_host_drops_the_own_syn_too() {
    let text = "`tc qdisc replace dev tun0 root pfifo limit 0`
         0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
         +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
         +0 connect(3, ..., ...) = -1 EINPROGRESS
         +.5 `tc qdisc replace dev tun0 root pfifo`
         1~1.1 > S 0:0(0) <...>";
    let options = Options {
        stack: Some("linux-6".to_owned()),
        ..Options::default()
    };
    let outcome = run(&parse(text).unwrap(), &options).unwrap();
    assert_eq!(outcome.failure, None);
}

/// `MAX_RW_COUNT`: one call takes 2 GiB less a page at most.
#[test]
fn a_write_of_more_than_a_call_takes_is_cut() {
    let huge = i64::MAX;
    let most = 0x7fff_f000;
    let vectors = format!("[{{..., {huge}}}, {{..., {huge}}}, {{..., {huge}}}]");
    for write in [
        format!("write(4, ..., {huge})"),
        format!("writev(4, {vectors}, 3)"),
    ] {
        passes(&format!("+0 {write} = {most}\n").repeat(3));
    }
}

#[test]
fn a_failure_after_the_longest_time_says_so() {
    let pauses = "+864000 `true`\n".repeat(30);
    let it = failure(&format!("{pauses}+0 read(4, ..., 10) = 10"));
    assert_eq!((it.kind, it.line), (FailureKind::Call, 37));
    assert!(it.to_string().contains("18446744.07"), "{it}");
}
