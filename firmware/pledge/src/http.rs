//! Messages of HTTP/1.1 (RFC 9112), as a pledge sends and reads them.
//!
//! What must always hold: what is kept of a response has at most the bytes that its request allows, twice: for its header and
//! for its content; a response that cannot be framed ends the connection.

use alloc::format;
use alloc::vec::Vec;

use httparse::{EMPTY_HEADER, Header, Status, parse_chunk_size};
use terse_brski::pledge::{Method, Request, Response};

use crate::exchange::Lost;

/// Returns the bytes of a request.
pub fn write_request(authority: &str, request: &Request) -> Vec<u8> {
    let method = match request.method {
        Method::Get => "GET",
        Method::Post => "POST",
    };
    let mut bytes = Vec::new();
    let mut line = |parts: &[&str]| {
        parts.iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
        bytes.extend_from_slice(b"\r\n");
    };
    line(&[method, " ", &request.path, " HTTP/1.1"]);
    line(&["Host: ", authority]);
    if let Some(content_type) = request.content_type {
        line(&["Content-Type: ", content_type]);
    }
    if let Some(accept) = request.accept {
        line(&["Accept: ", accept]);
    }
    if request.method == Method::Post {
        line(&["Content-Length: ", &format!("{}", request.body.len())]);
    }
    line(&[]);
    bytes.extend_from_slice(&request.body);
    bytes
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: u16,
    fields: [Option<Vec<u8>>; FIELDS.len()],
    body: Vec<u8>,
}

impl Answer {
    /// Returns the response as a pledge reads it.
    pub fn response(&self) -> Response<'_> {
        let mut response = Response::new(self.status, &self.body);
        let [content_type, retry_after, location] = &self.fields;
        response.content_type = content_type.as_deref();
        response.retry_after = retry_after.as_deref();
        response.location = location.as_deref();
        response
    }
}

/// The fields that a pledge reads.
const FIELDS: [&str; 3] = ["Content-Type", "Retry-After", "Location"];

/// Reads one response.
pub struct Reader {
    /// The most bytes of the header, and of the content.
    max: usize,
    /// What has come and is not read.
    input: Vec<u8>,
    /// The response whose content is being read, and how it is framed.
    reading: Option<(Answer, Framing)>,
}

/// How the end of a content is found (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// So many bytes are missing.
    Length(usize),
    /// A chunk follows.
    Chunk,
    /// So many bytes of a chunk are missing.
    InChunk(usize),
    /// The end of a chunk's line follows.
    AfterChunk,
    /// The trailer follows.
    Trailer,
    /// The end of the connection.
    Close,
}

impl Reader {
    /// Returns a reader of a response with at most so many bytes of content, and of header as well.
    pub const fn new(max: usize) -> Self {
        Self { max, input: Vec::new(), reading: None }
    }

    /// Takes data. Returns the response, once it is whole.
    pub fn receive(&mut self, data: &[u8]) -> Option<Result<Answer, Lost>> {
        self.input.extend_from_slice(data); // at most a record
        self.read().transpose()
    }

    /// Returns the response that the end of the connection completes.
    pub fn end(&mut self) -> Result<Answer, Lost> {
        match self.reading.take() {
            Some((answer, Framing::Close)) => Ok(answer),
            _ => Err(Lost),
        }
    }

    fn read(&mut self) -> Result<Option<Answer>, Lost> {
        while self.reading.is_none() {
            let Some(len) = self.read_header()? else { return Ok(None) };
            self.input.drain(..len);
        }
        let Some((answer, framing)) = &mut self.reading else { return Ok(None) };
        while let Some((len, next)) = step(*framing, &self.input, answer, self.max)? {
            self.input.drain(..len);
            match next {
                Some(next) => *framing = next,
                // Nothing may follow: there is no other request.
                None if self.input.is_empty() => return Ok(self.reading.take().map(|(answer, _)| answer)),
                None => return Err(Lost),
            }
        }
        match self.input.len() > MAX_LINE {
            true => Err(Lost),
            false => Ok(None),
        }
    }

    /// Reads the header of a response, and returns its length; `None` if it is not whole. Interim responses are passed over.
    fn read_header(&mut self) -> Result<Option<usize>, Lost> {
        let mut headers = [EMPTY_HEADER; MAX_FIELDS];
        let mut parsed = httparse::Response::new(&mut headers);
        let len = match parsed.parse(&self.input).map_err(|_| Lost)? {
            Status::Complete(len) => len,
            Status::Partial if self.input.len() > self.max => return Err(Lost),
            Status::Partial => return Ok(None),
        };
        let status = parsed.code.ok_or(Lost)?;
        if !(100..200).contains(&status) {
            let framing = framing(status, parsed.headers)?;
            let fields = FIELDS.map(|name| only(parsed.headers, name).map(Into::into));
            self.reading = Some((Answer { status, fields, body: Vec::new() }, framing));
        }
        Ok(Some(len))
    }
}

/// Reads on: returns how many bytes were read, and what follows, `None` if the content is whole; or `None` if more must come
/// first.
fn step(
    framing: Framing,
    input: &[u8],
    answer: &mut Answer,
    max: usize,
) -> Result<Option<(usize, Option<Framing>)>, Lost> {
    match framing {
        Framing::Length(0) => Ok(Some((0, None))),
        Framing::InChunk(0) => Ok(Some((0, Some(Framing::AfterChunk)))),
        Framing::Length(missing) | Framing::InChunk(missing) => {
            let taken = take(answer, input.get(..missing).unwrap_or(input), max)?;
            let rest = match framing {
                Framing::Length(_) => Framing::Length(missing - taken),
                _ => Framing::InChunk(missing - taken),
            };
            Ok((taken > 0).then_some((taken, Some(rest))))
        }
        Framing::Close => {
            let taken = take(answer, input, max)?;
            Ok((taken > 0).then_some((taken, Some(Framing::Close))))
        }
        Framing::Chunk => match parse_chunk_size(input).map_err(|_| Lost)? {
            Status::Complete((len, 0)) => Ok(Some((len, Some(Framing::Trailer)))),
            Status::Complete((len, size)) => {
                let size = usize::try_from(size).map_err(|_| Lost)?;
                Ok(Some((len, Some(Framing::InChunk(size)))))
            }
            Status::Partial => Ok(None),
        },
        Framing::AfterChunk => match input {
            [b'\r', b'\n', ..] => Ok(Some((2, Some(Framing::Chunk)))),
            [] | [b'\r'] => Ok(None),
            _ => Err(Lost),
        },
        // RFC 9112, 7.1.2: its fields are not read.
        Framing::Trailer => match input.windows(2).position(|pair| pair == b"\r\n") {
            Some(0) => Ok(Some((2, None))),
            Some(len) => Ok(Some((len + 2, Some(Framing::Trailer)))),
            None => Ok(None),
        },
    }
}

fn take(answer: &mut Answer, bytes: &[u8], max: usize) -> Result<usize, Lost> {
    if bytes.len() > max - answer.body.len() {
        return Err(Lost);
    }
    answer.body.extend_from_slice(bytes);
    Ok(bytes.len())
}

/// RFC 9112, 6.3.
fn framing(status: u16, headers: &[Header<'_>]) -> Result<Framing, Lost> {
    if matches!(status, 204 | 304) {
        return Ok(Framing::Length(0));
    }
    let has = |name| headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
    match (has("Transfer-Encoding"), has("Content-Length")) {
        (true, false) => match only(headers, "Transfer-Encoding") {
            Some(encoding) if encoding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunk),
            _ => Err(Lost),
        },
        (false, true) => {
            let digits = only(headers, "Content-Length").ok_or(Lost)?;
            let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits).ok_or(Lost)?;
            let length = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            length.map(Framing::Length).ok_or(Lost)
        }
        (false, false) => Ok(Framing::Close),
        (true, true) => Err(Lost), // somebody smuggles
    }
}

/// Returns the value of a field that is there exactly once.
fn only<'a>(headers: &[Header<'a>], name: &str) -> Option<&'a [u8]> {
    let mut values = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    let value = values.next()?.value.trim_ascii();
    values.next().is_none().then_some(value)
}

/// The most fields of a header.
const MAX_FIELDS: usize = 24;

/// The longest line with the size of a chunk, or of a trailer, in bytes.
const MAX_LINE: usize = 512;

#[cfg(test)]
mod tests;
