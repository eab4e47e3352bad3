//! An identity key that protects nothing: what both sides send is all that its terms depend on.

use std::sync::Arc;

use terse_tls::crypto::{
    CryptoError, EphemeralKey, IdentityKey, IdentityPeer, IdentityRole, IdentityTerms, Rng, SharedSecret, StaticTerms,
};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};

/// The key of any identity, with lengths as those of a real algorithm.
pub struct PlainIdentityKey {
    parameters: IdentityParameters,
    identity: Identity,
    public_part: Vec<u8>,
}

impl PlainIdentityKey {
    /// Returns the key of `identity` until `not_after`, in seconds since 1970.
    pub fn shared(algorithm: IdentityAlgorithm, identity: Identity, not_after: u64) -> Arc<dyn IdentityKey> {
        let authority_key = vec![7; algorithm.authority_key_len()];
        let parameters =
            IdentityParameters::new(algorithm, &authority_key, 7, not_after).expect("as long as a key must be");
        let mut public_part = vec![0; algorithm.public_part_len()];
        public_part.iter_mut().zip(identity.encoded()).for_each(|(byte, of_identity)| *byte = *of_identity);
        Arc::new(Self { parameters, identity, public_part })
    }

    /// Refuses keys of other lengths, and those that begin with 0xff, which stand for what is no point.
    fn check(key: &[u8], len: usize) -> Result<(), CryptoError> {
        let is_valid = key.len() == len && key.first() != Some(&0xff);
        if is_valid { Ok(()) } else { Err(CryptoError::InvalidKeyShare) }
    }
}

impl IdentityKey for PlainIdentityKey {
    fn parameters(&self) -> &IdentityParameters {
        &self.parameters
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn public_part(&self) -> &[u8] {
        &self.public_part
    }

    fn ephemeral(&self, rng: &mut dyn Rng) -> Result<EphemeralKey, CryptoError> {
        let mut public = vec![0; self.parameters.algorithm().ephemeral_len()];
        rng.fill(&mut public)?;
        public[0] &= 0x7f;
        Ok(EphemeralKey::new(SharedSecret::new(public.clone()), public))
    }

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        Self::check(secret, self.parameters.algorithm().ephemeral_len())?;
        Ok(EphemeralKey::new(SharedSecret::new(secret.to_vec()), secret.to_vec()))
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        let algorithm = self.parameters.algorithm();
        Self::check(peer.public_part, algorithm.public_part_len())?;
        let own = [self.identity.encoded(), &self.public_part].concat();
        let of_peer = [peer.identity.encoded(), peer.public_part].concat();
        let ([client, server], ephemeral) = match role {
            IdentityRole::Client => ([own, of_peer], ephemeral.map_or(&[][..], |own| own.public())),
            IdentityRole::Server => ([of_peer, own], peer.ephemeral),
        };
        Self::check(ephemeral, algorithm.ephemeral_len())?;
        let term = |of_client: &[u8]| SharedSecret::new([of_client, &server].concat());
        Ok(StaticTerms::new(term(&client), term(ephemeral)))
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        _: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        let algorithm = self.parameters.algorithm();
        Self::check(peer.ephemeral, algorithm.ephemeral_len())?;
        Self::check(peer.public_part, algorithm.public_part_len())?;
        let own = ([self.identity.encoded(), &self.public_part].concat(), ephemeral.public());
        let peer = ([peer.identity.encoded(), peer.public_part].concat(), peer.ephemeral);
        let [client, server] = match role {
            IdentityRole::Client => [own, peer],
            IdentityRole::Server => [peer, own],
        };
        let term = |of_client: &[u8], of_server: &[u8]| SharedSecret::new([of_client, of_server].concat());
        Ok(IdentityTerms::new([
            term(&client.0, &server.0),
            term(client.1, &server.0),
            term(&client.0, server.1),
            term(client.1, server.1),
        ]))
    }
}
