//! What a client's connection begins with: its link, and what was kept of connections before.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::DatagramCode;
use crate::cache::{self, CacheSession};
use crate::config::{ClientConfig, ServerAddress};
use crate::crypto::Rng;
use crate::error::{ApiMisuse, Error, Setting};
use crate::handshake::{caching, sessions};
use crate::link::Halves;
use crate::resume::{SessionOffer, SessionRequirements};
use crate::time::Now;
use crate::wire::ProtocolVersion;

/// Returns a client's link.
#[inline(never)]
pub(super) fn client_link(
    config: &ClientConfig,
    rng: &mut dyn Rng,
) -> Result<(Box<dyn Halves>, Option<&'static DatagramCode>), Error> {
    match (&config.common.datagrams, config.parts.stream, config.parts.datagrams) {
        (None, Some(stream), _) => Ok((stream(config), None)),
        (Some(settings), _, Some((link, code))) => Ok((link(&config.common, settings, rng)?, Some(code))),
        // The builder has checked that the link is there.
        (None, None, _) => Err(ApiMisuse::MissingPart(Setting::Streams).into()),
        (Some(_), _, None) => Err(ApiMisuse::MissingPart(Setting::Datagrams).into()),
    }
}

/// [`begin_kept`], to which a configuration points that keeps anything.
pub(crate) type BeginKept =
    fn(&ClientConfig, &ServerAddress, Now) -> (Option<Box<dyn CacheSession>>, Option<Box<SessionOffer>>);

/// Returns the parts of the cache and the session that a client offers to `server`. A session is preferred to caching, and
/// caching to a full handshake (docs/caching.md, 4.6).
#[inline(never)]
pub(crate) fn begin_kept(
    config: &ClientConfig,
    server: &ServerAddress,
    now: Now,
) -> (Option<Box<dyn CacheSession>>, Option<Box<SessionOffer>>) {
    let common = &config.common;
    let scope = config.scope(server);
    let trust_id = sessions::trust_id(config, server);
    let revocation = sessions::revocation_check(config, now);
    let revocation = revocation.as_ref();
    let is_enabled = |suite| common.enabled_suites().any(|enabled| enabled == suite);
    let requirements = SessionRequirements { now, trust_id, revocation, is_enabled: &is_enabled };
    let resumption = config.resumption.as_ref();
    let begun = resumption.map(|resumption| Box::new(resumption.begin(scope.clone(), &requirements)));
    let offers_session = begun.as_ref().is_some_and(|begun| begun.session.is_ok());
    let versions: Vec<_> = common.versions.iter().copied().filter(|version| common.enables(*version)).collect();
    let own_certificates = config.credentials.iter().map(|own| own.fingerprint(ProtocolVersion::TLS_1_3));
    let own_certificates: Vec<_> = own_certificates.collect();
    let context = cache::Context {
        now,
        trust_id,
        revocation,
        certificate_types: config.trust.certificate_types(),
        own_certificates: &own_certificates,
        answers: &|request, own| caching::answers(config, request, own),
        without_clock: config.trust.accepts_without_clock(),
        defences: common.defences(),
        versions: &versions,
        resumes: offers_session && resumption.is_some_and(|resumption| !resumption.offers_cached_objects),
    };
    // A client that trusts no certificates has nothing to leave out.
    let cache = config.cache.as_ref().filter(|_| config.trusts_certificates());
    (cache.map(|cache| (cache.begin)(cache, scope, context)), begun)
}
