//! Frames are what the standard says: their lengths, and the fields that smoltcp reads.

use smoltcp::wire::{Ieee802154Address, Ieee802154Frame, Ieee802154FrameType, Ieee802154FrameVersion, Ieee802154Pan};

use super::*;

const HEADER: Header = Header { pan: 0xCAFE, from: [1, 2, 3, 4, 5, 6, 7, 8], to: [9; 8], sequence: 77 };

#[test]
fn a_data_frame_is_read_by_smoltcp() {
    let bytes = HEADER.data(b"payload");
    assert_eq!(bytes.len(), OVERHEAD + 7);
    let frame = Ieee802154Frame::new_checked(&bytes[..bytes.len() - 2]).expect("a frame");
    assert_eq!(frame.frame_type(), Ieee802154FrameType::Data);
    assert_eq!(frame.frame_version(), Ieee802154FrameVersion::Ieee802154);
    assert!(frame.ack_request() && !frame.security_enabled() && !frame.frame_pending());
    assert_eq!(frame.sequence_number(), Some(77));
    assert_eq!(frame.dst_pan_id(), Some(Ieee802154Pan(0xCAFE)));
    assert_eq!(frame.dst_addr(), Some(Ieee802154Address::Extended(HEADER.to)));
    assert_eq!(frame.src_addr(), Some(Ieee802154Address::Extended(HEADER.from)));
    assert_eq!(frame.payload(), Some(&b"payload"[..]));
}

#[test]
fn a_data_frame_with_information_elements_is_read_by_smoltcp() {
    let elements = [0x00, 0x3F, 0x05, 0xA8, 201, 0x00, 0x07, 0, 1];
    let bytes = HEADER.elements(&elements);
    assert_eq!(bytes.len(), OVERHEAD + elements.len());
    let frame = Ieee802154Frame::new_checked(&bytes[..bytes.len() - 2]).expect("a frame");
    assert_eq!(frame.frame_type(), Ieee802154FrameType::Data);
    assert_eq!(frame.frame_version(), Ieee802154FrameVersion::Ieee802154);
    assert!(frame.ie_present() && frame.ack_request() && !frame.pan_id_compression());
    assert!(!frame.security_enabled() && !frame.frame_pending() && !frame.sequence_number_suppression());
    assert_eq!(frame.sequence_number(), Some(77));
    assert_eq!(frame.dst_pan_id(), Some(Ieee802154Pan(0xCAFE)));
    assert_eq!(frame.src_pan_id(), None);
    assert_eq!(frame.dst_addr(), Some(Ieee802154Address::Extended(HEADER.to)));
    assert_eq!(frame.src_addr(), Some(Ieee802154Address::Extended(HEADER.from)));
    // smoltcp does not read information elements: they stand where the payload begins.
    assert_eq!(frame.payload(), Some(&elements[..]));
    let plain = HEADER.data(&elements);
    assert!(!Ieee802154Frame::new_checked(&plain[..]).expect("a frame").ie_present());
}

#[test]
fn a_broadcast_is_read_by_smoltcp() {
    let bytes = HEADER.broadcast(b"payload");
    assert_eq!(bytes.len(), BROADCAST_OVERHEAD + 7);
    let frame = Ieee802154Frame::new_checked(&bytes[..bytes.len() - 2]).expect("a frame");
    assert_eq!(frame.frame_type(), Ieee802154FrameType::Data);
    assert_eq!(frame.frame_version(), Ieee802154FrameVersion::Ieee802154);
    // With a short address and an extended one, this bit says that there is one PAN (IEEE 802.15.4-2020, table 7-2).
    assert!(frame.pan_id_compression());
    assert!(!frame.ack_request(), "nobody acknowledges what is for all");
    assert!(!frame.ie_present() && !frame.security_enabled() && !frame.frame_pending());
    assert_eq!(frame.sequence_number(), Some(77));
    assert_eq!(frame.dst_pan_id(), Some(Ieee802154Pan(0xCAFE)));
    assert_eq!(frame.src_pan_id(), None);
    assert_eq!(frame.dst_addr(), Some(Ieee802154Address::Short([0xFF, 0xFF])));
    assert_eq!(frame.src_addr(), Some(Ieee802154Address::Extended(HEADER.from)));
    assert_eq!(frame.payload(), Some(&b"payload"[..]));
}

#[test]
fn every_frame_ends_with_its_checksum() {
    for bytes in [HEADER.data(b"1"), HEADER.elements(b"2"), HEADER.broadcast(b"3"), HEADER.acknowledgement()] {
        assert_eq!(with_fcs(bytes[..bytes.len() - 2].to_vec()), bytes);
    }
}

#[test]
fn an_enhanced_acknowledgement_has_27_bytes() {
    let bytes = HEADER.acknowledgement();
    assert_eq!(bytes.len(), ACKNOWLEDGEMENT_LEN);
    // Type 2, no AR, version 2, an information element, and the addresses exchanged.
    assert_eq!(bytes[..5], [0x02, 0xEE, 77, 0xFE, 0xCA]);
    assert_eq!(bytes[5..13], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(bytes[13..21], [9; 8]);
    // IE length 2, element 0x1e, header IE: IEEE 802.15.4-2020, 7.4.2.1.
    let descriptor = u16::from_le_bytes([bytes[21], bytes[22]]);
    assert_eq!((descriptor & 0x7F, descriptor >> 7 & 0xFF, descriptor >> 15), (2, 0x1E, 0));
}

#[test]
fn a_frame_in_a_queue_is_small() {
    assert!(size_of::<Frame>() <= 48, "{}", size_of::<Frame>());
}
