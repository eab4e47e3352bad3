//! Configurations that are complete.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise.
#![allow(unsafe_code)]

use alloc::boxed::Box;
use alloc::sync::Arc;

use terse_tls::{ClientConfig, ServerConfig};

use crate::platform::Platform;

/// What a client may do. It never changes, and any number of connections use it, also on several threads at once, if its
/// callbacks may be called there.
///
/// It has locks that spin, as have its credentials, which all configurations of one builder share. On one core, tasks of different
/// priorities must not share any of these: one that pre-empts another within a lock spins for ever. Each has a builder of its own, or
/// all of them call the library within one mutex of the program.
pub struct TerseClientConfig {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) platform: Platform,
}

/// What a server may do. It never changes, and any number of connections use it, also on several threads at once, if its
/// callbacks may be called there.
///
/// It has locks that spin, as have its credentials, which all configurations of one builder share. On one core, tasks of different
/// priorities must not share any of these: one that pre-empts another within a lock spins for ever. Each has a builder of its own, or
/// all of them call the library within one mutex of the program.
pub struct TerseServerConfig {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) platform: Platform,
}

/// Frees a configuration, which may be NULL. Connections that were made with it keep what they need, and may live longer; what
/// its callbacks get must live as long as they do.
#[unsafe(no_mangle)]
pub extern "C" fn terse_client_config_free(config: Option<Box<TerseClientConfig>>) {
    drop(config);
}

/// Frees a configuration, which may be NULL. Connections that were made with it keep what they need, and may live longer; what
/// its callbacks get must live as long as they do.
#[unsafe(no_mangle)]
pub extern "C" fn terse_server_config_free(config: Option<Box<TerseServerConfig>>) {
    drop(config);
}
