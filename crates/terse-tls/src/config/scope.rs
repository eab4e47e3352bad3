//! What a client's sessions and cached objects are kept under.

use super::{ClientConfig, ServerAddress};
use crate::cache::{Fingerprint, Scope, ServerId};
use crate::wire::{ProtocolVersion, Transport};

pub(super) fn of(config: &ClientConfig, server: &ServerAddress) -> Scope {
    if !config.common.defences().separate_scopes() {
        let server = ServerId::new(&server.name);
        return Scope { server, port: 0, transport: Transport::Stream, credential: None };
    }
    Scope {
        server: ServerId::new(&server.name),
        port: server.port,
        transport: config.common.transport(),
        credential: own_credentials(config),
    }
}

/// What tells a client's credentials from others: a fingerprint of all of them, and of which are shown to whom. Of one that
/// is shown to everybody it is its own.
fn own_credentials(config: &ClientConfig) -> Option<Fingerprint> {
    match &config.credentials[..] {
        [] => None,
        [own] if !own.is_only_for_named_authorities() => Some(own.fingerprint(ProtocolVersion::TLS_1_3)),
        all => {
            let mut context = config.common.provider.sha256.start();
            for own in all {
                context.update(&[own.is_only_for_named_authorities().into()]);
                context.update(&own.fingerprint(ProtocolVersion::TLS_1_3).0);
            }
            let mut fingerprint = Fingerprint([0; 32]);
            fingerprint.0.iter_mut().zip(context.finish().as_ref()).for_each(|(to, from)| *to = *from);
            Some(fingerprint)
        }
    }
}
