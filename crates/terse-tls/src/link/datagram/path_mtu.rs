//! The largest datagram that the path carries: it is configured, and reduced when flights are lost again and again, whose
//! cause may be a path with a smaller MTU (RFC 6347, 4.1.1.1; RFC 9147, 4.4).

/// The size of the largest datagram.
pub(super) struct PathMtu {
    configured: usize,
    /// The size that is used, which becomes smaller after losses.
    max_datagram: usize,
}

impl PathMtu {
    pub(super) const fn new(configured: usize) -> Self {
        Self { configured, max_datagram: configured }
    }

    pub(super) const fn max_datagram(&self) -> usize {
        self.max_datagram
    }

    /// Takes a smaller size, if a flight was lost this often. `least` is the smallest size of use, and `largest` that of
    /// the largest datagram that was lost.
    pub(super) fn lost(&mut self, losses: u8, least: usize, largest: usize) {
        let sizes = least..self.max_datagram.min(largest);
        if losses >= LOSSES
            && let Some(smaller) = SMALLER.into_iter().find(|size| sizes.contains(size))
        {
            self.max_datagram = smaller;
        }
    }

    /// Takes the configured size again, if the smaller one is less than `least`.
    pub(super) const fn make_room(&mut self, least: usize) {
        if self.max_datagram < least {
            self.restore();
        }
    }

    /// Takes the configured size again.
    pub(super) const fn restore(&mut self) {
        self.max_datagram = self.configured;
    }
}

/// The sizes of datagrams after repeated losses. They fit into packets of 1,280 bytes, the smallest MTU of IPv6, of 576
/// bytes, which every IPv4 host accepts, and of 256 bytes.
const SMALLER: [usize; 3] = [1_232, 528, 208];

/// After how many retransmissions datagrams become smaller.
const LOSSES: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_become_smaller_step_by_step_and_not_too_small() {
        let mut path = PathMtu::new(1_400);
        path.lost(1, 50, usize::MAX);
        assert_eq!(path.max_datagram(), 1_400, "the first loss says little");
        for size in [1_232, 528, 208, 208] {
            path.lost(2, 50, usize::MAX);
            assert_eq!(path.max_datagram(), size);
        }
        path.make_room(208);
        assert_eq!(path.max_datagram(), 208);
        path.make_room(209);
        assert_eq!(path.max_datagram(), 1_400);
        path.lost(2, 300, 528);
        assert_eq!(path.max_datagram(), 1_400, "a datagram of 528 bytes was lost, and 208 are too few");
        path.lost(2, 300, 529);
        assert_eq!(path.max_datagram(), 528);
        path.restore();
        assert_eq!(path.max_datagram(), 1_400);
    }
}
