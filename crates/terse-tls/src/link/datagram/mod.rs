//! The parts of the link over datagrams, each of which stands alone: messages put together from fragments, the timer of
//! a flight, cookies (RFC 6347, 4.2).

pub(crate) mod cookie;
pub(crate) mod fragment;
pub(crate) mod retransmit;
