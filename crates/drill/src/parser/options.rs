//! Reads TCP options, as in `<mss 1000,sackOK,nop,nop,nop,wscale 7>` and `<...>`.

use super::Cursor;
use crate::ast::TcpOption;
use crate::error::ScriptError;
use crate::lexer::Token;

impl Cursor<'_> {
    /// Reads a list of options. Without a list there are no options; `<...>` gives None, which allows any options.
    pub(super) fn tcp_options(&mut self) -> Result<Option<Vec<TcpOption>>, ScriptError> {
        let mut options = Vec::new();
        if !self.take('<') {
            return Ok(Some(options));
        }
        if *self.peek() == Token::Ellipsis {
            self.skip();
            self.need('>')?;
            return Ok(None);
        }
        loop {
            options.push(self.tcp_option()?);
            if !self.take(',') {
                self.need('>')?;
                return Ok(Some(options));
            }
        }
    }

    fn tcp_option(&mut self) -> Result<TcpOption, ScriptError> {
        const WHAT: &str = "a TCP option: mss, wscale, sackOK, sack, TS, nop or eol";
        let Token::Word(word) = self.peek().clone() else {
            return Err(self.expected(WHAT));
        };
        if !["mss", "wscale", "sackOK", "sack", "TS", "nop", "eol"].contains(&word.as_str()) {
            return Err(self.expected(WHAT));
        }
        self.skip();
        Ok(match word.as_str() {
            "mss" => TcpOption::Mss(self.number("a segment size of 0 to 65535 after `mss`")?),
            "wscale" => TcpOption::WindowScale(self.number("a number of bits after `wscale`")?),
            "sackOK" => TcpOption::SackPermitted,
            "sack" => TcpOption::Sack(self.sack_blocks()?),
            "TS" => {
                self.need_word("val")?;
                let val = self.number("a timestamp after `val`")?;
                self.need_word("ecr")?;
                TcpOption::Timestamps(val, self.number("a timestamp after `ecr`")?)
            }
            "nop" => TcpOption::Nop,
            _ => TcpOption::Eol,
        })
    }

    fn need_word(&mut self, word: &str) -> Result<(), ScriptError> {
        if self.take_word(word) {
            return Ok(());
        }
        Err(self.expected(&format!("`{word}`")))
    }

    fn sack_blocks(&mut self) -> Result<Vec<(u32, u32)>, ScriptError> {
        let mut blocks = Vec::new();
        loop {
            let start = self.number("the left edge of a SACK block")?;
            self.need(':')?;
            blocks.push((start, self.number("the right edge of a SACK block")?));
            if !matches!(self.peek(), Token::Number(_)) {
                return Ok(blocks);
            }
        }
    }
}
