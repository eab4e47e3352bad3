//! 6top: the 6top Protocol (6P, RFC 8480), and the scheduling functions that use it.

pub(crate) mod message;
