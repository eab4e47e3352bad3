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
