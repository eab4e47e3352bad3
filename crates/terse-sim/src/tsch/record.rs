//! The frames of a slot in the ledger, the balance and the captures.

use super::Mesh;
use super::frame::{ACKNOWLEDGEMENT_LEN, Content, Frame, Header};
use super::slot::{Reception, Transmission};
use crate::asn::Asn;
use crate::cause::Cause;
use crate::direction::Direction;
use crate::ledger::{Fate, Kind, Layers, Record};
use crate::sixtop::message::Subtype;

impl Mesh {
    /// Puts a frame, and its acknowledgement, into the ledger, the balance and the captures. `has_heard` says of a node whether it
    /// has heard this frame, if that is for all.
    pub(super) fn record(&mut self, asn: Asn, transmission: &Transmission, has_heard: impl Fn(u16) -> bool) {
        let Transmission { from, to, channel, frame, sequence, layers, fate, is_acknowledged, .. } = *transmission;
        let len = layers.sum();
        let timeslot = &self.config.timeslot;
        let at = timeslot.start(asn) + timeslot.tx_offset;
        let arrives = timeslot.frame_end(asn, len);
        let goes_up = || self.motes[usize::from(from)].parent == Some(to);
        let way = |goes_up: bool| if goes_up { Direction::Up } else { Direction::Down };
        let (direction, fragment, packet, kind) = match frame.content {
            Content::Piece(piece) => {
                let Some(datagram) = self.datagrams.get(piece.datagram) else { return };
                let host = if datagram.goes_up() { datagram.origin } else { datagram.destination };
                if !datagram.kind.is_of_network() {
                    self.motes[usize::from(host)].share.count(len);
                }
                let fragment = datagram.is_fragmented().then_some(piece.index.into());
                (way(datagram.goes_up()), fragment, datagram.number, datagram.kind)
            }
            Content::Sixp(_) => (way(goes_up()), None, u64::MAX, Kind::Sixp),
            Content::KeepAlive => (way(goes_up()), None, u64::MAX, Kind::KeepAlive),
            Content::Beacon => (Direction::Down, None, u64::MAX, Kind::Beacon),
            Content::Multicast(place) => {
                let multicast = self.forming.as_ref().and_then(|forming| forming.multicasts.get(place));
                (Direction::Down, None, u64::MAX, multicast.map_or(Kind::Other, |multicast| multicast.kind))
            }
        };
        let (arrived, attempt) = (None, frame.tries);
        let record = Record {
            at,
            arrived,
            direction,
            sender: from,
            layers,
            kind,
            fragment,
            packet,
            attempt,
            fate: Fate::UnderWay,
        };
        self.frames.sent.add(len);
        let number = self.ledger.note(record);
        match fate {
            Reception::Received | Reception::Repeated => {
                self.frames.delivered.add(len);
                self.ledger.decide(arrives, number, Fate::Delivered);
            }
            Reception::Lost | Reception::NoRoom => {
                let cause = if fate == Reception::Lost { Cause::Lost } else { Cause::QueueFull };
                self.frames.drop_one(cause, len);
                self.ledger.decide(arrives, number, Fate::Dropped(cause));
            }
        }
        let header = Header {
            pan: self.config.mac.pan,
            from: self.motes[usize::from(from)].eui64,
            to: self.motes.get(usize::from(to)).map_or([0; 8], |mote| mote.eui64),
            sequence,
        };
        let is_lost = !fate.is_acknowledged();
        let is_end = |node| node == from || node == to;
        let concerns = |node| is_end(node) || has_heard(node);
        self.capture_frame(at, (asn, channel), concerns, direction, is_lost, |mesh| {
            mesh.frame_bytes(asn, from, &frame, &header)
        });
        if fate.is_acknowledged() && !transmission.is_broadcast() {
            let at = arrives + self.config.timeslot.tx_ack_delay;
            let back = direction.opposite();
            let layers = Layers { link: ACKNOWLEDGEMENT_LEN, ..Layers::default() };
            let acknowledgement = Record {
                at,
                sender: to,
                direction: back,
                layers,
                kind: Kind::LinkAcknowledgement,
                fragment: None,
                attempt: 0,
                ..record
            };
            let number = self.ledger.note(acknowledgement);
            self.frames.sent.add(ACKNOWLEDGEMENT_LEN);
            let arrives = self.received_at(asn, len);
            if is_acknowledged {
                self.frames.delivered.add(ACKNOWLEDGEMENT_LEN);
                self.ledger.decide(arrives, number, Fate::Delivered);
            } else {
                self.frames.drop_one(Cause::Lost, ACKNOWLEDGEMENT_LEN);
                self.ledger.decide(arrives, number, Fate::Dropped(Cause::Lost));
            }
            self.capture_frame(at, (asn, channel), is_end, back, !is_acknowledged, |_| header.acknowledgement());
        }
    }

    /// Returns a frame as bytes, for captures.
    fn frame_bytes(&self, asn: Asn, from: u16, frame: &Frame, header: &Header) -> Vec<u8> {
        let forming = self.forming.as_ref();
        match frame.content {
            Content::Piece(piece) => header.data(&self.payload(&piece).unwrap_or_default()),
            Content::KeepAlive => header.data(&[]),
            Content::Sixp(place) => {
                let message = forming.and_then(|forming| forming.sixp.get(place));
                header.elements(&message.map_or_else(Vec::new, |(message, _)| message.encode(Subtype::Experimental)))
            }
            Content::Multicast(place) => {
                let multicast = forming.and_then(|forming| forming.multicasts.get(place));
                header.broadcast(multicast.map_or(&[], |multicast| &multicast.bytes))
            }
            Content::Beacon => self.beacon_bytes(asn, from, header.sequence),
        }
    }
}
