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

/// The number of bytes that a call writes: its third argument, or the sum of the lengths of its vectors.
pub(super) fn sent_bytes(call: &Call) -> Option<u64> {
    let vectors = |expr: &Expr| match expr {
        Expr::List(list) => list
            .iter()
            .map(|vector| match vector {
                Expr::Group(parts) => match parts.as_slice() {
                    [_, Expr::Number(bytes)] => u64::try_from(*bytes).ok(),
                    _ => None,
                },
                _ => None,
            })
            .sum::<Option<u64>>(),
        _ => None,
    };
    match (call.name.as_str(), call.arguments.get(1)?) {
        ("writev", list) => vectors(list),
        ("sendmsg", Expr::Group(fields)) => fields.iter().find_map(|field| match field {
            Expr::Named(name, value) => match name.as_ref() {
                Expr::Apply(name, _) if name == "msg_iov" => vectors(value),
                _ => None,
            },
            _ => None,
        }),
        _ => match call.arguments.get(2)? {
            Expr::Number(bytes) => u64::try_from(*bytes).ok(),
            _ => None,
        },
    }
}
