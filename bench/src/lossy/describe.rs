//! Datagrams are described for people, as far as they can be read without keys (RFC 6347, 4.1; RFC 9147, 4).

/// Returns the records of a datagram, with commas.
pub fn describe(mut datagram: &[u8]) -> String {
    let mut records = Vec::new();
    while let Some(&first) = datagram.first() {
        let (text, len) = if first >> 5 == 0b001 { unified(datagram) } else { plain(datagram) };
        records.push(text);
        datagram = datagram.get(len..).unwrap_or_default();
    }
    records.join(", ")
}

/// Returns the epoch in a header of DTLS 1.3, and the length of its record. There are no connection IDs here.
fn unified(datagram: &[u8]) -> (String, usize) {
    let first = datagram[0];
    let number = if first & 0x08 == 0 { 1 } else { 2 };
    let (head, len) = match (first & 0x04 != 0, datagram.get(1 + number..3 + number)) {
        (true, Some(len)) => (3 + number, usize::from(u16::from_be_bytes([len[0], len[1]]))),
        _ => (1 + number, datagram.len().saturating_sub(1 + number)),
    };
    (format!("epoch {} of {len}", first & 0x03), head + len)
}

fn plain(datagram: &[u8]) -> (String, usize) {
    let Some((head, rest)) = datagram.split_first_chunk::<13>() else { return ("?".into(), datagram.len()) };
    let (epoch, len) = (u16::from_be_bytes([head[3], head[4]]), u16::from_be_bytes([head[11], head[12]]));
    let fragment = rest.get(..usize::from(len)).and_then(<[u8]>::first_chunk::<12>);
    let text = match (head[0], epoch, fragment) {
        (22, 0, Some(header)) => {
            let number = |at: usize| u32::from_be_bytes([0, header[at], header[at + 1], header[at + 2]]);
            let (start, len) = (number(6), number(9));
            format!("{} {start}..{} of {}", message(header[0]), start + len, number(1))
        }
        (content_type, ..) => format!("type {content_type} of epoch {epoch}, {len}"),
    };
    (text, head.len() + usize::from(len))
}

/// Returns the RFCs' name of a handshake message.
fn message(kind: u8) -> String {
    let known = match kind {
        1 => "ClientHello",
        2 => "ServerHello",
        3 => "HelloVerifyRequest",
        11 => "Certificate",
        12 => "ServerKeyExchange",
        13 => "CertificateRequest",
        14 => "ServerHelloDone",
        15 => "CertificateVerify",
        16 => "ClientKeyExchange",
        other => return format!("message {other}"),
    };
    known.into()
}
