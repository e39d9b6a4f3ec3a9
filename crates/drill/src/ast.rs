//! The syntax tree of a script.

use fairport_tcp::Ecn;
use fairport_units::Duration;

use crate::code::Statement;

/// A place in the text of a script. Line and column both count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// A whole script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The stack that a comment `// fairport: stack NAME` names.
    pub stack: Option<String>,
    /// The options `--name=value` at the head of the script.
    pub options: Vec<ScriptOption>,
    /// The back-quoted commands without a time, before the first event and after the last.
    pub commands: Vec<(Position, String)>,
    /// The events, in the order of the script.
    pub events: Vec<Event>,
}

/// An option `--name=value` of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// The place of the option.
    pub at: Position,
    /// The name, without the dashes.
    pub name: String,
    /// The text after `=`, or None if there is no `=`.
    pub value: Option<String>,
}

/// Something that happens at a time of the script, or is expected to happen then.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The place of its time in the script.
    pub at: Position,
    /// The time at which it is due.
    pub time: EventTime,
    /// The action.
    pub action: Action,
}

/// The time at which an event is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// `1.5`: time since the start of the script.
    Absolute(Duration),
    /// `+.5`: time since the previous event.
    Relative(Duration),
    /// `*`: at any time (outbound segments only).
    Any,
    /// `1~2`: between these times (outbound segments only).
    AbsoluteRange(Duration, Duration),
    /// `+1~+2`: between these times since the previous event (outbound segments only).
    RelativeRange(Duration, Duration),
}

/// What happens in an event, or is expected to happen.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `<`: the peer's segment arrives.
    Inbound(Packet),
    /// `>`: the stack is expected to send this segment.
    Outbound(Packet),
    /// A socket call of the application and its expected result.
    Call(Call),
    /// A back-quoted command. It is never executed.
    Command(String),
    /// `%{ .. }%`: code.
    Code(Vec<Statement>),
}

/// A TCP segment as a script writes it. Its sequence numbers are relative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The ECN codepoint of `[ect0]`, or the two of `[ect01]`. Without any, every codepoint is accepted.
    pub ecn: Vec<Ecn>,
    /// The control bits, as in the header's byte.
    pub flags: u8,
    /// The first sequence number.
    pub seq: u32,
    /// The number of bytes of data.
    pub payload: u32,
    /// The acknowledgement number of `ack N`.
    pub ack: Option<u32>,
    /// The window of `win N`, as in the header.
    pub window: Option<u16>,
    /// The options in order, or None for `<...>`, which allows any options.
    pub options: Option<Vec<TcpOption>>,
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Padding.
    Nop,
    /// End of the list.
    Eol,
    /// Maximum segment size.
    Mss(u16),
    /// Window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks: left edge, right edge.
    Sack(Vec<(u32, u32)>),
    /// Timestamps: value, echo.
    Timestamps(u32, u32),
}

/// A socket call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The time of `...T`, at which a call that blocks returns.
    pub until: Option<Duration>,
    /// The name of the call.
    pub name: String,
    /// The arguments.
    pub arguments: Vec<Expr>,
    /// The expected return value.
    pub result: Expr,
    /// The name of the expected error, if the call returns -1.
    pub errno: Option<String>,
}

/// An argument or result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// `...`: any value.
    Any,
    /// A number.
    Number(i64),
    /// A symbol.
    Word(String),
    /// A string.
    Text(String),
    /// `f(a, b)`, such as `htons(8080)`.
    Apply(String, Vec<Expr>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{a, b}`.
    Group(Vec<Expr>),
    /// `name = value` within a group. The left side may also be `name(..)`.
    Named(Box<Expr>, Box<Expr>),
    /// `a|b|c`.
    Or(Vec<Expr>),
}
