//! Server-sent events, as the WHATWG's HTML standard defines their format.

use crate::DecodeError;

/// Maximum number of bytes that are kept of an event's name. No API has longer names.
const MAX_NAME: usize = 64;

/// Parser of server-sent events. The bytes of the stream can be split anywhere.
#[derive(Debug)]
pub(crate) struct Sse {
    limit: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: String,
    /// True if the last byte was `\r`: a `\n` after it ends the same line.
    after_cr: bool,
    /// True until the first line has ended: it can begin with a byte order mark.
    first: bool,
}

impl Sse {
    /// Creates a parser. `limit` is the maximum number of bytes of one event, together with the line that is being
    /// read.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: String::new(),
            after_cr: false,
            first: true,
        }
    }

    /// Reads the next bytes, and calls `on_event` with the name, which may be empty, and the data of each complete
    /// event.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        on_event: &mut impl FnMut(&str, &[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let [b'\n', rest @ ..] = bytes
            {
                bytes = rest;
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.room(piece.len())?;
            self.line.extend_from_slice(piece);
            bytes = rest;
            if let [byte, rest @ ..] = bytes {
                self.after_cr = *byte == b'\r';
                bytes = rest;
                self.end_line(on_event)?;
            }
        }
        Ok(())
    }

    /// Ends the stream. Some servers omit the empty line after the last event, which is reported nevertheless.
    pub(crate) fn finish(
        &mut self,
        on_event: &mut impl FnMut(&str, &[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if !self.line.is_empty() {
            self.end_line(on_event)?;
        }
        self.dispatch(on_event)
    }

    fn room(&self, more: usize) -> Result<(), DecodeError> {
        if self.line.len() + self.data.len() + more > self.limit {
            return Err(DecodeError::bound("bytes of an event", self.limit as u64));
        }
        Ok(())
    }

    fn end_line(
        &mut self,
        on_event: &mut impl FnMut(&str, &[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.first) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            self.line = line;
            return self.dispatch(on_event);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                let value = &value[..value.len().min(MAX_NAME)];
                self.name = String::from_utf8_lossy(value).into_owned();
            }
            // Comments, `id` and `retry`.
            _ => {}
        }
        // The allocation is used again.
        line.clear();
        self.line = line;
        Ok(())
    }

    fn dispatch(
        &mut self,
        on_event: &mut impl FnMut(&str, &[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let name = std::mem::take(&mut self.name);
        if std::mem::take(&mut self.has_data) {
            let result = on_event(&name, &self.data);
            self.data.clear();
            return result;
        }
        Ok(())
    }
}
