//! The reader: what it takes, and what it says of what it does not take.

use fairport_drill::ast::{Action, EventTime, TcpOption};
use fairport_drill::{ScriptError, parse};
use fairport_tcp::Ecn;
use fairport_units::Duration;
use proptest::prelude::*;

fn error(text: &str) -> ScriptError {
    parse(text).expect_err(text)
}

#[test]
fn times_are_exact_and_of_five_kinds() {
    let text =
        "1.25 > . 1:1(0)\n+.000001 > . 1:1(0)\n* > . 1:1(0)\n1~2 > . 1:1(0)\n+.1~+.2 > . 1:1(0)";
    let times: Vec<EventTime> = parse(text).unwrap().events.iter().map(|e| e.time).collect();
    assert_eq!(
        times,
        [
            EventTime::Absolute(Duration::from_ms(1250)),
            EventTime::Relative(Duration::from_us(1)),
            EventTime::Any,
            EventTime::AbsoluteRange(Duration::from_secs(1), Duration::from_secs(2)),
            EventTime::RelativeRange(Duration::from_ms(100), Duration::from_ms(200)),
        ]
    );
}

#[test]
fn a_segment_has_flags_numbers_and_options_in_order() {
    let text = "0 < [ect0] SEW 7:8(1) ack 9 win 257 <mss 1000,sackOK,TS val 1 ecr 2,sack 1:2 3:4>";
    let script = parse(text).unwrap();
    let Action::Inbound(packet) = &script.events[0].action else {
        panic!("inbound")
    };
    assert_eq!(packet.ecn, [Ecn::Ect0]);
    assert_eq!(packet.flags, 0x02 | 0x40 | 0x80);
    assert_eq!((packet.seq, packet.payload, packet.ack), (7, 1, Some(9)));
    assert_eq!(packet.window, Some(257));
    assert_eq!(
        packet.options.as_deref().unwrap(),
        [
            TcpOption::Mss(1000),
            TcpOption::SackPermitted,
            TcpOption::Timestamps(1, 2),
            TcpOption::Sack(vec![(1, 2), (3, 4)]),
        ]
    );
}

#[test]
fn calls_take_structures_and_blocking_times() {
    let text = "0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 40}, {..., 60}], msg_flags=0}, MSG_MORE|MSG_EOR) = 100\n\
                +.1...0.2 connect(3, {sa_family = AF_INET, sin_port = htons(80)}, 16) = -1 EINPROGRESS (Operation now in progress)";
    let events = parse(text).unwrap().events;
    let Action::Call(call) = &events[1].action else {
        panic!("a call")
    };
    assert_eq!(call.until, Some(Duration::from_ms(200)));
    assert_eq!(call.errno.as_deref(), Some("EINPROGRESS"));
}

#[test]
fn comments_commands_and_code_are_read() {
    let text = "--tolerance_usecs=100\n`sysctl -q x=1\n# shell`\n/* a\n comment */ 0 `tc qdisc`  // tail\n\
                +0 %{\nassert tcpi_snd_cwnd == 10, 'cwnd %d' % tcpi_snd_cwnd  # ten\nx = (1 +\n 2); x += 1\n}%\n`last`";
    let script = parse(text).unwrap();
    assert_eq!(script.options[0].value.as_deref(), Some("100"));
    assert_eq!(script.commands.len(), 2);
    let Action::Code(statements) = &script.events[1].action else {
        panic!("code")
    };
    let lines: Vec<u32> = statements.iter().map(|s| s.line).collect();
    assert_eq!(lines, [7, 8, 9]);
}

#[test]
fn an_error_names_line_column_and_what_was_expected() {
    for (text, line, column, expected) in [
        ("0 < S 0:0(0)\n+.1 < Q 0:0(0)", 2, 7, "TCP flags"),
        ("0 > . 1:1001(1000) ack", 1, 23, "acknowledgement number"),
        ("0 > . 1:1001(999)", 1, 9, "`1000`"),
        ("0 < . 1:1(0) win 65536", 1, 18, "0 to 65535"),
        ("0 < . 1:1(0) <mss 10,quack>", 1, 22, "TCP option"),
        ("+x socket()", 1, 2, "seconds"),
        ("0 socket(...) 3", 1, 15, "`=`"),
        ("* socket(...) = 3", 1, 3, "outbound segment"),
        ("2~1 > . 1:1(0)", 1, 3, "not before"),
        ("0 %{ assert }%", 1, 13, "a number, a name"),
        ("0 %{ assert 1\n  while x }%", 2, 9, "`assert`, `print`"),
        ("0 `tc", 1, 3, "close"),
        ("/* never", 1, 1, "close"),
        ("0 ? 1", 1, 3, "`<`, `>`, a socket call"),
    ] {
        let error = error(text);
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{text}: {error}"
        );
        assert!(error.expected.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_statement_may_have_a_thousand_operands() {
    let code = |operands: usize| format!("0 %{{ assert {} }}%", vec!["1"; operands].join("+"));
    assert!(parse(&code(1000)).is_ok());
    let error = error(&code(1001));
    assert!(error.expected.contains("fewer operands"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*") {
        let _ = parse(&text);
    }

    /// Made of what scripts are made of, so that the reader gets far into them.
    #[test]
    fn no_mixture_of_the_languages_pieces_makes_the_reader_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "0 ", "+.1 ", "+0...0.2 ", "~", "* ", "< ", "> ", "S. ", ". ", "1:1001(1000) ", "ack 1 ", "win 257 ",
            "<mss 1000,sackOK>", "<...>", "<sack 1:2 ", "[ect0] ", "write(4, ..., 1) = 1\n", "socket(", ")", "=", "{",
            "}", "[", "]", "...", "\"", "`", "%{ assert ", "tcpi_snd_cwnd ", "== 10 ", "}%", "(", "'", "\\\n", "\n",
            "// ", "/*", "--tolerance_usecs=", "0x", "-1 ", "99999999999999999999", "4294967296:", "\u{e9}",
        ]), 0..40)
    ) {
        let _ = parse(&pieces.concat());
    }
}
