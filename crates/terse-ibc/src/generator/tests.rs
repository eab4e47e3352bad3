use super::*;
use crate::vectors::{EPOCH, NOT_AFTER, TestRng, client, generator};

/// A source of randomness that fails.
struct Broken;

impl Rng for Broken {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), CryptoError> {
        Err(CryptoError::RandomFailed)
    }
}

#[test]
fn an_epoch_follows_the_other() {
    for algorithm in IdentityAlgorithm::ALL {
        let first = generator(algorithm);
        let mut next = first.clone();
        next.rotate(NOT_AFTER + 1).expect("another epoch");
        let parameters = next.parameters();
        assert_eq!((parameters.epoch(), parameters.not_after()), (EPOCH + 1, NOT_AFTER + 1));
        assert_eq!(parameters.authority_key(), first.parameters().authority_key());
        next.rekey(NOT_AFTER + 2, &mut TestRng(3)).expect("another epoch");
        let parameters = next.parameters();
        assert_eq!((parameters.epoch(), parameters.not_after()), (EPOCH + 2, NOT_AFTER + 2));
        assert_ne!(parameters.authority_key(), first.parameters().authority_key());
    }
}

/// With the same secret, keys of an epoch that comes again would be valid again.
#[test]
fn epochs_do_not_begin_again() {
    for algorithm in IdentityAlgorithm::ALL {
        let mut last = Generator::new(algorithm, u32::MAX, NOT_AFTER, &mut TestRng(1)).expect("a generator");
        let before = last.to_bytes();
        assert_eq!(last.rotate(NOT_AFTER), Err(IssueError::LastEpoch));
        assert_eq!(last.rekey(NOT_AFTER, &mut TestRng(2)), Err(IssueError::LastEpoch));
        assert_eq!(last.to_bytes(), before);
    }
}

#[test]
fn a_source_that_fails_changes_nothing() {
    for algorithm in IdentityAlgorithm::ALL {
        let failed = IssueError::Crypto(CryptoError::RandomFailed);
        assert_eq!(Generator::new(algorithm, 1, NOT_AFTER, &mut Broken).err(), Some(failed));
        let mut generator = generator(algorithm);
        let before = generator.to_bytes();
        assert_eq!(generator.rekey(NOT_AFTER, &mut Broken), Err(failed));
        assert_eq!(generator.to_bytes(), before);
        let key = generator.issue(&client()).expect("a key");
        assert_eq!(key.ephemeral(&mut Broken).err(), Some(CryptoError::RandomFailed));
    }
}
