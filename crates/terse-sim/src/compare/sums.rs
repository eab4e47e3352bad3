//! The sums of a connection's frames, layer by layer.
//!
//! What must always hold: every byte of every frame counts once; a repetition counts for the layer that sent it.

use crate::Time;
use crate::ledger::{Fate, Kind, Layers, Record};

/// Sums over the frames of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LayerSums {
    /// Bytes by layer. What TCP sent again counts as TCP's, and what the link sent again as the link's, with all
    /// headers in it.
    pub(super) layers: Layers,
    /// The number of frames.
    pub(super) frames: usize,
    /// The number of TCP segments that only acknowledge.
    pub(super) pure_acks: usize,
    /// The number of segments that TCP sent again.
    pub(super) resent: usize,
    /// The number of frames that never arrived.
    pub(super) lost: usize,
    /// The time when the last frame arrived, or was sent if it was lost.
    pub(super) closed: Time,
}

impl LayerSums {
    /// Returns the sums of `records`.
    pub(super) fn of(records: &[Record]) -> Self {
        let mut sums = Self { frames: records.len(), ..Self::default() };
        for record in records {
            sums.layers = sums.layers + attributed(record);
            sums.pure_acks += usize::from(record.kind == Kind::Acknowledgement && record.begins_packet());
            sums.resent += usize::from(record.kind == Kind::Retransmission && record.begins_packet());
            sums.lost += usize::from(matches!(record.fate, Fate::Dropped(_)));
            sums.closed = sums.closed.max(record.arrived.unwrap_or(record.at));
        }
        sums
    }
}

/// Returns the bytes of a frame, counted for the layer that caused it to be sent.
fn attributed(record: &Record) -> Layers {
    let Layers { application, transport, .. } = record.layers;
    if record.attempt > 0 {
        return Layers { link: record.layers.sum(), ..Layers::default() };
    }
    match record.kind {
        Kind::Retransmission => Layers { application: 0, transport: transport + application, ..record.layers },
        _ => record.layers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Direction;
    use crate::network::Cause;

    const LAYERS: Layers = Layers { application: 50, transport: 8, network: 7, link: 25 };

    fn record(kind: Kind, fragment: Option<u16>, attempt: u8, fate: Fate) -> Record {
        let at = Time::from_millis(5);
        let arrived = (fate == Fate::Delivered).then(|| Time::from_millis(9));
        Record {
            at,
            arrived,
            direction: Direction::Up,
            sender: 0,
            layers: LAYERS,
            kind,
            fragment,
            packet: 0,
            attempt,
            fate,
        }
    }

    #[test]
    fn what_is_sent_again_is_of_the_layer_that_did_it() {
        let lost = Fate::Dropped(Cause::Lost);
        let first = record(Kind::Datagram, None, 0, lost);
        assert_eq!(LayerSums::of(&[first]).layers, LAYERS);
        assert_eq!(LayerSums::of(&[first]).closed, Time::from_millis(5), "sent in vain");
        let by_link = LayerSums::of(&[first, record(Kind::Datagram, None, 1, Fate::Delivered)]);
        assert_eq!(by_link.layers, Layers { link: 25 + 90, ..LAYERS });
        assert_eq!((by_link.frames, by_link.lost, by_link.resent), (2, 1, 0));
        assert_eq!(by_link.closed, Time::from_millis(9));
        let by_tcp = LayerSums::of(&[record(Kind::Retransmission, None, 0, Fate::Delivered)]);
        assert_eq!(by_tcp.layers, Layers { application: 0, transport: 58, ..LAYERS });
        assert_eq!(by_tcp.resent, 1);
    }

    #[test]
    fn segments_count_once_whatever_the_link_makes_of_them() {
        for kind in [Kind::Acknowledgement, Kind::Retransmission] {
            let frames = [(0, 0), (0, 1), (1, 0)];
            let records = frames.map(|(fragment, attempt)| record(kind, Some(fragment), attempt, Fate::Delivered));
            let sums = LayerSums::of(&records);
            assert_eq!(sums.frames, 3);
            assert_eq!(sums.pure_acks + sums.resent, 1, "{kind:?}");
            assert_eq!(sums.layers.sum(), 3 * LAYERS.sum());
        }
    }
}
