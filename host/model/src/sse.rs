//! Server-sent events, as the WHATWG's standard of HTML describes their format.

use crate::DecodeError;

/// The most bytes of an event's name that are kept; no API has longer ones.
const MAX_NAME: usize = 64;

/// Puts the bytes of a stream together to events. Bytes can be split anywhere.
#[derive(Debug)]
pub(crate) struct Sse {
    limit: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: String,
    /// The last byte was `\r`: a `\n` belongs to it.
    after_cr: bool,
    /// No line has ended yet: there can be a byte order mark.
    first: bool,
}

impl Sse {
    /// `limit`: the most bytes of a line, and of the data of an event.
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

    /// Takes the next bytes, and passes on the events that they complete: their names, which may be empty, and their data.
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

    /// The stream has ended. Servers forget the empty line after the last event, which is passed on nevertheless.
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
