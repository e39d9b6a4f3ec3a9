//! What a script says, once it is read.

use fairport_units::Duration;

use crate::code::Statement;

/// A place in the script's text; both count from 1.
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
    /// The stack that a comment `// fairport: stack NAME` asks for.
    pub stack: Option<String>,
    /// `--name=value` at the head.
    pub options: Vec<ScriptOption>,
    /// Back-quoted commands without a time: before the first event and after the last.
    pub commands: Vec<(Position, String)>,
    /// The events in their order.
    pub events: Vec<Event>,
}

/// `--name=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// Where it is.
    pub at: Position,
    /// Without its dashes.
    pub name: String,
    /// What follows `=`.
    pub value: Option<String>,
}

/// Something that happens, or is expected to, at some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where its time is written.
    pub at: Position,
    /// When.
    pub time: EventTime,
    /// What.
    pub action: Action,
}

/// When an event is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// `1.5`: since the start of the script.
    Absolute(Duration),
    /// `+.5`: since the event before.
    Relative(Duration),
    /// `*`: whenever (outbound segments only).
    Any,
    /// `1~2`: within (outbound segments only).
    AbsoluteRange(Duration, Duration),
    /// `+1~+2`: within, since the event before (outbound segments only).
    RelativeRange(Duration, Duration),
}

/// What an event is.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `<`: the peer's segment arrives.
    Inbound(Packet),
    /// `>`: the stack is expected to send this.
    Outbound(Packet),
    /// A socket call of the application and its expected result.
    Call(Call),
    /// A back-quoted command; never executed.
    Command(String),
    /// `%{ .. }%`.
    Code(Vec<Statement>),
}

/// The codepoint in the IP header (RFC 3168 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// `noecn`: not ECN-capable.
    NotEct,
    /// `ect0`.
    Ect0,
    /// `ect1`.
    Ect1,
    /// `ect01`: either of the two; for outbound segments.
    EitherEct,
    /// `ce`: congestion experienced.
    Ce,
}

/// A TCP segment as a script writes it; sequence numbers are relative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// `[ect0]` and the like.
    pub ecn: Option<Ecn>,
    /// The header's byte of control bits.
    pub flags: u8,
    /// First sequence number.
    pub seq: u32,
    /// Bytes of data.
    pub payload: u32,
    /// `ack N`.
    pub ack: Option<u32>,
    /// `win N`, as in the header.
    pub window: Option<u16>,
    /// The options in order; none for `<...>`: any.
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
    /// `...T`: when a call that blocks returns.
    pub until: Option<Duration>,
    /// Its name.
    pub name: String,
    /// What it is called with.
    pub arguments: Vec<Expr>,
    /// What it returns.
    pub result: Expr,
    /// The name of the error, where it returns -1.
    pub errno: Option<String>,
}

/// An argument or result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// `...`: any.
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
    /// `name = value` within a group, also `name(..) = value`.
    Named(Box<Expr>, Box<Expr>),
    /// `a|b`.
    Or(Box<Expr>, Box<Expr>),
}
