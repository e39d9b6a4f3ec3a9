//! Reads a segment after `<` or `>`, as in `[ect0] P. 1:1001(1000) ack 1 win 257 <..>`.

use fairport_tcp::Ecn;

use super::Cursor;
use crate::ast::Packet;
use crate::error::ScriptError;
use crate::lexer::Token;

impl Cursor<'_> {
    pub(super) fn packet(&mut self) -> Result<Packet, ScriptError> {
        let ecn = self.ip_info()?;
        let flags = self.flags()?;
        let seq: u32 = self.number("the first sequence number")?;
        self.need(':')?;
        let end_at = self.at();
        let end: u32 = self.number("the sequence number after the last byte")?;
        self.need('(')?;
        let payload: u32 = self.number("the number of bytes of data")?;
        self.need(')')?;
        if seq.wrapping_add(payload) != end {
            let expected = format!("`{}`, {seq} and {payload} bytes", seq.wrapping_add(payload));
            return Err(ScriptError::new(end_at, &expected, &format!("`{end}`")));
        }
        let ack = if self.take_word("ack") {
            Some(self.number("an acknowledgement number after `ack`")?)
        } else {
            None
        };
        let window = if self.take_word("win") {
            Some(self.number("a window of 0 to 65535 after `win`")?)
        } else {
            None
        };
        if self.take_word("urg") {
            let _: u16 = self.number("an urgent pointer of 0 to 65535 after `urg`")?;
        }
        Ok(Packet {
            ecn,
            flags,
            seq,
            payload,
            ack,
            window,
            options: self.tcp_options()?,
        })
    }

    /// Reads fields of the IP header, as in `[ect0]`, `(tos 0x1)` or `[ttl 64]`. Only the ECN codepoint is kept.
    fn ip_info(&mut self) -> Result<Vec<Ecn>, ScriptError> {
        let close = if self.take('[') {
            ']'
        } else if self.take('(') {
            ')'
        } else {
            return Ok(Vec::new());
        };
        let mut ecn = Vec::new();
        loop {
            let Token::Word(word) = self.peek().clone() else {
                return Err(self.expected("ect0, ect1, ect01, ce, noecn, tos or ttl"));
            };
            match word.as_str() {
                "noecn" => ecn = vec![Ecn::NotEct],
                "ect0" => ecn = vec![Ecn::Ect0],
                "ect1" => ecn = vec![Ecn::Ect1],
                "ect01" => ecn = vec![Ecn::Ect0, Ecn::Ect1],
                "ce" => ecn = vec![Ecn::Ce],
                "tos" | "ttl" | "flowlabel" => {}
                _ => return Err(self.expected("ect0, ect1, ect01, ce, noecn, tos or ttl")),
            }
            self.skip();
            match word.as_str() {
                "tos" => {
                    let tos: u8 = self.number("a type of service of 0 to 0xff")?;
                    ecn = vec![Ecn::from_bits(tos)];
                }
                "ttl" | "flowlabel" => {
                    let _: u32 = self.number("a number")?;
                }
                _ => {}
            }
            if !self.take(',') {
                self.need(close)?;
                return Ok(ecn);
            }
        }
    }

    /// Reads the flags, as in `S`, `S.`, `.`, `P.`, `SEW` or `-`.
    fn flags(&mut self) -> Result<u8, ScriptError> {
        const WHAT: &str = "the TCP flags: `.` or some of F, S, R, P, U, E, W, or `-` for none \
                            (segments of other protocols are not of this subset)";
        let mut flags = 0;
        let mut any = self.take('-');
        if let Token::Word(word) = self.peek() {
            for letter in word.chars() {
                flags |= match letter {
                    'F' => 0x01,
                    'S' => 0x02,
                    'R' => 0x04,
                    'P' => 0x08,
                    'U' => 0x20,
                    'E' => 0x40,
                    'W' => 0x80,
                    _ => return Err(self.expected(WHAT)),
                };
            }
            self.skip();
            any = true;
        }
        if self.take('.') {
            flags |= 0x10;
            any = true;
        }
        if any {
            Ok(flags)
        } else {
            Err(self.expected(WHAT))
        }
    }
}
