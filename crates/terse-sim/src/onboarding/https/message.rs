//! Messages of HTTP/1.1 on a connection that stays open (RFC 9112), as pledge and registrar of a simulation write them: each has a
//! Content-Length, and the header fields that BRSKI and EST need.
//!
//! What must always hold: what was written here is read here; anything else ends the connection.

/// A message: a request or a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// The request line or the status line.
    pub(super) start: String,
    /// The header fields but Content-Length.
    pub(super) fields: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Message {
    pub(super) fn new(start: String, body: Vec<u8>) -> Self {
        Self { start, fields: Vec::new(), body }
    }

    /// Returns the message with this header field, if it has a value.
    pub(super) fn with(mut self, name: &str, value: Option<&str>) -> Self {
        self.fields.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        self
    }

    /// Returns the value of a header field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut head = format!("{}\r\n", self.start);
        for (name, value) in &self.fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        // RFC 9110, 8.6: neither a GET nor a 204 has one.
        if !self.start.starts_with("GET ") && !self.start.starts_with("HTTP/1.1 204 ") {
            head.push_str(&format!("{CONTENT_LENGTH}: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        [head.as_bytes(), &self.body].concat()
    }

    /// Takes the message that `bytes` begins with, if all of it is there.
    pub(super) fn take(bytes: &mut Vec<u8>) -> Result<Option<Self>, Malformed> {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            return if bytes.len() > LONGEST_HEAD { Err(Malformed) } else { Ok(None) };
        };
        let head = core::str::from_utf8(&bytes[..end]).map_err(|_| Malformed)?;
        let mut lines = head.split("\r\n");
        let mut message = Self::new(lines.next().unwrap_or_default().to_owned(), Vec::new());
        let mut body_len = 0;
        for line in lines {
            let (name, value) = line.split_once(": ").ok_or(Malformed)?;
            match name.eq_ignore_ascii_case(CONTENT_LENGTH) {
                true => body_len = value.parse().map_err(|_| Malformed)?,
                false => message.fields.push((name.to_owned(), value.to_owned())),
            }
        }
        if body_len > LONGEST_BODY {
            return Err(Malformed);
        }
        let Some(body) = bytes.get(end + 4..end + 4 + body_len) else { return Ok(None) };
        message.body = body.to_vec();
        bytes.drain(..end + 4 + body_len);
        Ok(Some(message))
    }
}

/// What came is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

const CONTENT_LENGTH: &str = "Content-Length";
const LONGEST_HEAD: usize = 8_192;
const LONGEST_BODY: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let messages = [
            Message::new("POST /a HTTP/1.1".into(), b"body\r\n\r\n".to_vec()).with("Host", Some("registrar")),
            Message::new("GET /b HTTP/1.1".into(), Vec::new()).with("Accept", None),
            Message::new("HTTP/1.1 204 No Content".into(), Vec::new()),
        ];
        let whole: Vec<u8> = messages.iter().flat_map(Message::encode).collect();
        for pieces in [1, 7, whole.len()] {
            let (mut bytes, mut read) = (Vec::new(), Vec::new());
            for piece in whole.chunks(pieces) {
                bytes.extend_from_slice(piece);
                while let Some(message) = Message::take(&mut bytes).unwrap() {
                    read.push(message);
                }
            }
            assert_eq!(read, messages);
        }
        assert_eq!(messages[0].field("host"), Some("registrar"));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let refused = |bytes: &[u8]| Message::take(&mut bytes.to_vec());
        assert_eq!(refused(b"GET / HTTP/1.1\r\nnothing\r\n\r\n"), Err(Malformed));
        assert_eq!(refused(b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"), Err(Malformed));
        assert_eq!(refused(b"POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n"), Err(Malformed));
        assert_eq!(refused(&[b'a'; 9_000]), Err(Malformed));
        assert_eq!(refused(b"GET / HTTP/1.1\r\n"), Ok(None));
    }
}
