//! Which frame of a queue goes first to each neighbour.
//!
//! What must always hold: a frame that was sent before goes first, then a 6P message or a keep-alive, then all others, in the order
//! in which they came. A receiver knows a repetition by the sequence number of the last frame: nothing may come in between.

use std::collections::VecDeque;

use super::frame::Frame;

/// The first frame for each neighbour, and for all, in a queue. The memory is used again for the next queue.
#[derive(Debug, Default)]
pub(super) struct Firsts(Vec<First>);

#[derive(Debug)]
struct First {
    peer: u16,
    index: usize,
    precedence: Precedence,
}

/// What goes before what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    /// The frame was sent before.
    Repetition,
    /// The frame comes before those with packets.
    Control,
    Other,
}

impl Firsts {
    /// Looks through a queue once.
    pub(super) fn find(&mut self, queue: &VecDeque<Frame>) {
        self.0.clear();
        for (index, frame) in queue.iter().enumerate() {
            let (peer, precedence) = (frame.next_hop, Precedence::of(frame));
            match self.0.iter_mut().find(|first| first.peer == peer) {
                Some(first) if precedence < first.precedence => *first = First { peer, index, precedence },
                Some(_) => {}
                None => self.0.push(First { peer, index, precedence }),
            }
        }
    }

    /// Returns the index of the first frame for a neighbour, or for all.
    pub(super) fn of(&self, peer: u16) -> Option<usize> {
        self.0.iter().find(|first| first.peer == peer).map(|first| first.index)
    }

    /// Returns each next hop with the index of its first frame, in the order in which the queue names them first.
    pub(super) fn of_all(&self) -> impl Iterator<Item = (u16, usize)> {
        self.0.iter().map(|first| (first.peer, first.index))
    }
}

impl Precedence {
    const fn of(frame: &Frame) -> Self {
        match frame.sequence {
            Some(_) => Self::Repetition,
            None if frame.comes_first() => Self::Control,
            None => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asn::Asn;
    use crate::tsch::frame::{BROADCAST, Content};

    #[test]
    fn repetitions_go_before_control_and_control_before_packets() {
        let other = |peer| Frame::new(Content::Multicast(0), peer, Asn(0));
        let control = |peer| Frame::new(Content::KeepAlive, peer, Asn(0));
        let sent = |frame| Frame { sequence: Some(1), ..frame };
        let mut queue: VecDeque<Frame> = [other(7), other(5), control(7), control(7), other(BROADCAST)].into();
        let mut firsts = Firsts::default();
        firsts.find(&queue);
        assert_eq!(firsts.of_all().collect::<Vec<_>>(), [(7, 2), (5, 1), (BROADCAST, 4)]);
        queue.extend([sent(other(7)), sent(control(7)), sent(other(5))]);
        firsts.find(&queue);
        assert_eq!([7, 5, BROADCAST, 6].map(|peer| firsts.of(peer)), [Some(5), Some(7), Some(4), None]);
        firsts.find(&VecDeque::new());
        assert_eq!(firsts.of(7), None);
    }
}
