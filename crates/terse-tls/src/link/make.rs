//! How connections get their links.

use alloc::boxed::Box;
use alloc::vec;

use super::Halves;
use super::datagram::{Driver, FirstMessage};
use super::stream::Stream;
use crate::config::{ClientConfig, Common, Datagrams, ServerConfig};
use crate::crypto::Rng;
use crate::error::Error;

/// What makes a client's link over datagrams.
pub(crate) type ClientDatagrams = fn(&Common, &Datagrams, &mut dyn Rng) -> Result<Box<dyn Halves>, Error>;

/// What makes a client's link over a stream.
pub(crate) type ClientStream = fn(&ClientConfig) -> Box<dyn Halves>;

/// Returns a client's link over datagrams.
pub(crate) fn client_datagrams(
    common: &Common,
    settings: &Datagrams,
    rng: &mut dyn Rng,
) -> Result<Box<dyn Halves>, Error> {
    let cid = match settings.connection_id {
        Some(len) => {
            let mut cid = vec![0; len.into()];
            rng.fill(&mut cid)?;
            Some(cid.into_boxed_slice())
        }
        None => None,
    };
    Ok(Box::new(Driver::new(common, settings, cid)))
}

/// Returns a client's link over a stream.
pub(crate) fn client_stream(config: &ClientConfig) -> Box<dyn Halves> {
    Box::new(Stream::new(&config.common, config.compatibility_mode))
}

/// Returns the link of a server. It does not negotiate a connection ID: [`accept`] does.
pub(crate) fn server(config: &ServerConfig) -> Box<dyn Halves> {
    match &config.common.datagrams {
        None => Box::new(Stream::new(&config.common, false)),
        Some(settings) => Box::new(Driver::new(&config.common, settings, None)),
    }
}

/// Returns the link of a server over datagrams to which a ClientHello came. Its own records begin with `number`.
pub(crate) fn accept(
    config: &ServerConfig,
    cid: Option<Box<[u8]>>,
    hello: &FirstMessage,
    number: u64,
) -> Box<dyn Halves> {
    let settings = config.common.datagrams.unwrap_or_default(); // there are some: a ClientHello came in them
    Box::new(Driver::accept(&config.common, &settings, cid, hello, number))
}
