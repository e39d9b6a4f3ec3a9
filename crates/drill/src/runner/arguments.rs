//! Reads the arguments of socket calls.

use crate::ast::{Call, Expr};

/// Whether the arguments contain `symbol`, alone or joined to others by `|`.
pub(super) fn mentions(arguments: &[Expr], symbol: &str) -> bool {
    arguments.iter().any(|argument| match argument {
        Expr::Word(word) => word == symbol,
        Expr::Or(words) => mentions(words, symbol),
        _ => false,
    })
}

/// The most bytes that one call takes (`MAX_RW_COUNT`).
const WRITE_MAX: u64 = 0x7fff_f000;

/// The number of bytes that a call writes: its third argument, or the sum of the lengths of its vectors.
pub(super) fn sent_bytes(call: &Call) -> Option<u64> {
    let bytes = |expr: Option<&Expr>| match expr? {
        Expr::Number(bytes) => Some(u64::try_from(*bytes).ok()?.min(WRITE_MAX)),
        _ => None,
    };
    let vectors = |expr: &Expr| match expr {
        Expr::List(list) => list
            .iter()
            .map(|vector| match vector {
                Expr::Group(parts) if parts.len() == 2 => bytes(parts.last()),
                _ => None,
            })
            .sum::<Option<u64>>(),
        _ => None,
    };
    let sent = match (call.name.as_str(), call.arguments.get(1)?) {
        ("writev", list) => vectors(list),
        ("sendmsg", Expr::Group(fields)) => fields.iter().find_map(|field| match field {
            Expr::Named(name, value) => match name.as_ref() {
                Expr::Apply(name, _) if name == "msg_iov" => vectors(value),
                _ => None,
            },
            _ => None,
        }),
        _ => bytes(call.arguments.get(2)),
    };
    Some(sent?.min(WRITE_MAX))
}
