//! The CoAP messages of an exchange (RFC 7252, 3; RFC 9528, A.2). Tokens are empty: one request is outstanding at a time (RFC
//! 7252, 5.3.1).

use coap_lite::{CoapOption, MessageClass, MessageType, Packet, RequestType, ResponseType};

/// A message that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A confirmable POST to /.well-known/edhoc.
    Post(u16, Vec<u8>),
    /// An acknowledgement with a response 2.04 (Changed).
    Changed(u16, Vec<u8>),
    /// An acknowledgement with another response, or a reset; the text is the response code.
    Refused(u16, String),
}

/// Encodes a confirmable POST.
pub(super) fn post(id: u16, payload: Vec<u8>) -> Vec<u8> {
    let mut packet = packet(MessageType::Confirmable, MessageClass::Request(RequestType::Post), id);
    for segment in PATH {
        packet.add_option(CoapOption::UriPath, segment.to_vec());
    }
    packet.add_option(CoapOption::ContentFormat, vec![CID_EDHOC_CBOR_SEQ]);
    with_payload(packet, payload)
}

/// Encodes the acknowledgement of a request with a response 2.04 (Changed), which has a message or is empty.
pub(super) fn changed(id: u16, message: Vec<u8>) -> Vec<u8> {
    respond(ResponseType::Changed, id, message)
}

/// Encodes the acknowledgement of a request with a response 4.00 (Bad Request) and an error message: ERR_CODE 1, unspecified,
/// with an empty text (RFC 9528, 6.2).
pub(super) fn bad_request(id: u16) -> Vec<u8> {
    respond(ResponseType::BadRequest, id, vec![0x01, 0x60])
}

/// Parses a datagram. Returns `None` for what no side of this exchange sends.
pub(super) fn parse(datagram: &[u8]) -> Option<Message> {
    let packet = Packet::from_bytes(datagram).ok()?;
    let id = packet.header.message_id;
    match (packet.header.get_type(), packet.header.code) {
        (MessageType::Confirmable, MessageClass::Request(RequestType::Post)) => {
            let path = packet.get_option(CoapOption::UriPath)?;
            let format = packet.get_first_option(CoapOption::ContentFormat)?;
            let is_ours = path.iter().eq(PATH) && *format == [CID_EDHOC_CBOR_SEQ];
            is_ours.then_some(Message::Post(id, packet.payload))
        }
        (MessageType::Acknowledgement, MessageClass::Response(ResponseType::Changed)) => {
            Some(Message::Changed(id, packet.payload))
        }
        (MessageType::Acknowledgement, MessageClass::Response(_)) | (MessageType::Reset, _) => {
            Some(Message::Refused(id, packet.header.get_code()))
        }
        _ => None,
    }
}

fn respond(code: ResponseType, id: u16, payload: Vec<u8>) -> Vec<u8> {
    let mut packet = packet(MessageType::Acknowledgement, MessageClass::Response(code), id);
    if !payload.is_empty() {
        packet.add_option(CoapOption::ContentFormat, vec![EDHOC_CBOR_SEQ]);
    }
    with_payload(packet, payload)
}

fn packet(message_type: MessageType, code: MessageClass, id: u16) -> Packet {
    let mut packet = Packet::new();
    packet.header.set_type(message_type);
    packet.header.code = code;
    packet.header.message_id = id;
    packet
}

fn with_payload(mut packet: Packet, payload: Vec<u8>) -> Vec<u8> {
    packet.payload = payload;
    // Without a limit nothing can fail: the token is empty, and all options are short.
    packet.to_bytes_unlimited().unwrap_or_default()
}

const PATH: [&[u8]; 2] = [b".well-known", b"edhoc"];
/// application/edhoc+cbor-seq (RFC 9528, 10.9.3).
const EDHOC_CBOR_SEQ: u8 = 64;
/// application/cid-edhoc+cbor-seq.
const CID_EDHOC_CBOR_SEQ: u8 = 65;
