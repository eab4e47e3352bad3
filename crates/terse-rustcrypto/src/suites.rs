//! Cipher suites of TLS 1.3 (RFC 9846, B.4), and of TLS 1.2: those with an AEAD and, but for the last, with forward
//! secrecy. Those of TLS 1.2 use the PRF with the hash that they name, or SHA-256 where they name none (RFC 5246, 5).

use crate::{aead, hash, record_number};

terse_tls::define_cipher_suites!();
