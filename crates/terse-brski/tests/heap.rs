//! The heap that a pledge needs to sign and to verify, beyond what it has already: the content, and its certificates.

use core::hint::black_box;
use std::sync::Arc;

use pki_types::{SubjectPublicKeyInfoDer, UnixTime};
use terse_brski::cms::{Signed, Unsigned, sign};
use terse_brski::cose::{Signed as Signed1, Unsigned as Unsigned1};
use terse_brski::pledge::{Coaps, Command, Form, Https, Input, Pledge, PledgeConfig, Presented, Proxy, Request};
use terse_brski::voucher::{Assertion, Nonce, Pin, VoucherRequest};
use terse_pki::{Authority, AuthorityOptions, Credential, IdevidOptions, NameAttribute, Subject, Validity};
use terse_rustcrypto::PROVIDER;
use terse_testkit::allocator::measure;
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::{Instant, Now, SignatureScheme};

const NOW: u64 = 1_767_225_600;

/// The length of a voucher request whose registrar has a certificate of about 450 bytes.
const REQUEST_LEN: usize = 783;

/// A chain of two certificates, of about 450 bytes each.
fn idevid() -> Credential {
    let options = AuthorityOptions::new("p256x3".parse().unwrap(), Validity::without_end(NOW));
    let options = AuthorityOptions { key_identifiers: true, length: Some(450), ..options };
    let authority = Authority::new(&options).unwrap();
    let organization =
        Subject::empty().with(NameAttribute::Organization, "A Manufacturer of Pumps, Valves and Sensors").unwrap();
    let masa_url = Some("masa.manufacturer.example:9443".parse().unwrap());
    let options = IdevidOptions { subject: organization, masa_url, ..IdevidOptions::new("JADA123456789", NOW) };
    let idevid = authority.issue_idevid(&options).unwrap();
    let lengths: Vec<_> = idevid.chain().iter().map(|certificate| certificate.len()).collect();
    assert!(lengths.iter().all(|len| len.abs_diff(450) < 20), "{lengths:?}");
    idevid
}

#[test]
fn signing_takes_less_than_3_kb() {
    let idevid = idevid();
    let key = PROVIDER.load_key(idevid.key()).unwrap();
    let content = vec![b'{'; REQUEST_LEN];
    let time = Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(NOW)));
    let (signed, heap) = measure(|| {
        let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
        let unsigned = Unsigned::new(&PROVIDER, &content, idevid.chain(), scheme, time).unwrap();
        unsigned.sign(&*key, &mut SeededRng::new(1)).unwrap()
    });
    println!("signing: {} bytes at most, for {} bytes of result", heap.peak, signed.len());
    assert!(heap.peak < 3_000, "{heap:?}");
    // Beside the result there is a signature and little more.
    assert!(heap.peak < signed.len() as i64 + 200, "{heap:?} for {}", signed.len());
    // Nothing but the result is left. Its room is that of the longest signature.
    assert_eq!(heap.kept, signed.capacity() as i64);
    assert!(signed.capacity() < signed.len() + 12, "{} of {}", signed.len(), signed.capacity());
}

/// A key that needs memory of its own while it signs, as that of AWS-LC does.
struct Busy(Arc<dyn SigningKey>);

impl Busy {
    const LEN: i64 = 1_000;
}

impl SigningKey for Busy {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        let own = black_box(vec![0_u8; Self::LEN as usize]);
        let signature = self.0.sign(scheme, message, rng);
        drop(own);
        signature
    }
}

#[test]
fn memory_of_a_key_that_answers_at_once_is_not_beside_the_result() {
    let idevid = idevid();
    let key = Busy(PROVIDER.load_key(idevid.key()).unwrap());
    let content = vec![b'{'; REQUEST_LEN];
    let (scheme, rng) = (SignatureScheme::ECDSA_SECP256R1_SHA256, &mut SeededRng::new(1));
    let (signed, at_once) = measure(|| sign(&PROVIDER, &content, idevid.chain(), None, &key, scheme, rng).unwrap());
    let (same, prepared) = measure(|| {
        let unsigned = Unsigned::new(&PROVIDER, &content, idevid.chain(), scheme, None).unwrap();
        unsigned.sign(&key, rng).unwrap()
    });
    assert_eq!(signed, same, "signatures are deterministic (RFC 6979)");
    assert!(at_once.peak < signed.len() as i64 + 250, "{at_once:?} for {}", signed.len());
    assert!(prepared.peak > signed.len() as i64 + Busy::LEN, "{prepared:?} for {}", signed.len());
}

#[test]
fn verifying_takes_its_result_and_little_more() {
    let idevid = idevid();
    let key = PROVIDER.load_key(idevid.key()).unwrap();
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let unsigned = Unsigned::new(&PROVIDER, &[b'{'; REQUEST_LEN], idevid.chain(), scheme, None).unwrap();
    let encoded = unsigned.sign(&*key, &mut SeededRng::new(1)).unwrap();
    let (signed, heap) = measure(|| Signed::verify(&PROVIDER, &encoded, &[]).unwrap());
    let result = signed.content.len() + signed.chain.iter().map(|certificate| certificate.len()).sum::<usize>();
    println!("verifying: {} bytes at most, for {result} bytes of result", heap.peak);
    assert!(heap.peak < result as i64 + 1_000, "{heap:?} for {result}");
}

/// The voucher request of a pledge: the registrar by its certificate, which is the longest way.
fn request() -> VoucherRequest {
    let mut request = VoucherRequest::new("JADA123456789".into());
    request.assertion = Some(Assertion::Proximity);
    request.nonce = Some(Nonce::of_random_bytes(&[7; 16]));
    request.proximity_registrar = vec![Pin::Certificate(vec![0x30; 450].into())];
    request
}

#[test]
fn a_voucher_request_with_cose_takes_less_than_1_5_kb() {
    let idevid = idevid();
    let (key, leaf) = (PROVIDER.load_key(idevid.key()).unwrap(), &idevid.chain()[0]);
    let with_certificate = request();
    let mut with_hash = request();
    with_hash.proximity_registrar = vec![Pin::PublicKeySha256([7; 32])];
    for (name, request) in [("certificate", with_certificate), ("hash of key", with_hash)] {
        let (signed, heap) = measure(|| {
            let content = request.to_cbor();
            let unsigned = Unsigned1::new(&content, leaf, &[], SignatureScheme::ECDSA_SECP256R1_SHA256).unwrap();
            drop(content);
            unsigned.sign(&*key, &mut SeededRng::new(1)).unwrap()
        });
        println!("COSE, {name}: {} bytes at most, for {} bytes of result", heap.peak, signed.len());
        assert!(heap.peak < 1_500, "{heap:?}");
        // There is the content and the result, and then a signature beside the result.
        assert!(heap.peak < 2 * signed.len() as i64, "{heap:?} for {}", signed.len());
        assert_eq!((heap.kept, signed.capacity()), (signed.len() as i64, signed.len()));
    }
}

#[test]
fn verifying_cose_takes_its_result_and_little_more() {
    let idevid = idevid();
    let (key, chain) = (PROVIDER.load_key(idevid.key()).unwrap(), idevid.chain());
    let unsigned = Unsigned1::new(&request().to_cbor(), &chain[0], &[], SignatureScheme::ECDSA_SECP256R1_SHA256);
    let encoded = unsigned.unwrap().sign(&*key, &mut SeededRng::new(1)).unwrap();
    let (signed, heap) = measure(|| Signed1::verify(&PROVIDER, &encoded, chain).unwrap());
    let result = signed.content.len() + signed.chain.iter().map(|certificate| certificate.len()).sum::<usize>();
    println!("verifying COSE: {} bytes at most, for {result} bytes of result", heap.peak);
    assert!(heap.peak < result as i64 + 300, "{heap:?} for {result}");
}

/// Returns the voucher request of a pledge of this form, and the heap that it takes beyond a copy of the registrar's certificates,
/// from the end of the handshake to the command that sends it.
fn request_of<F: Form>(form: F) -> (Request, i64) {
    let issued = idevid();
    let credential =
        terse_tls::Credential::new(issued.chain().to_vec(), PROVIDER.load_key(issued.key()).unwrap()).unwrap();
    let anchors = vec![issued.chain().last().unwrap().clone()];
    let config = PledgeConfig::with_form(form, &PROVIDER, credential, anchors, Default::default()).unwrap();
    let mut pledge = Pledge::new(Arc::new(config));
    let (now, rng) = (Now::new(Instant(0), None), &mut SeededRng::new(1));
    let commands = pledge.handle(now, rng, Input::Found(&[Proxy(1)]));
    let [Command::Connect { connection, .. }] = commands[..] else { panic!("{commands:?}") };
    let chain = idevid().chain().to_vec(); // of the registrar: as long as one
    let (commands, heap) =
        measure(|| pledge.handle(now, rng, Input::Connected { connection, presented: Presented::Chain(&chain) }));
    let Some(Command::Send(_, request)) = commands.into_iter().next() else { panic!("a request is sent") };
    let chain: i64 = chain.iter().map(|certificate| certificate.len() as i64).sum();
    (request, heap.peak - chain)
}

#[test]
fn a_pledge_of_constrained_brski_makes_its_request_in_less_than_1_5_kb() {
    let (request, peak) = request_of(Coaps::default());
    println!("pledge, CoAPS: {peak} bytes at most, for {} bytes of request", request.body.len());
    assert!(request.body.len() < 200, "{}", request.body.len());
    assert!(peak < 1_500, "{peak}");
    let (long, most) = request_of(Https);
    println!("pledge, HTTPS: {most} bytes at most, for {} bytes of request", long.body.len());
    assert!(peak < most / 2, "{peak} and {most}");
}
