//! The key that signs vouchers. It may be in another process or a hardware module, and take its time.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::artefact::{Format, Unsigned};
use terse_brski::cms;
use terse_brski::voucher::Voucher;
use terse_net::OsRng;
use terse_net::tokio::Answer;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, CryptoProvider, SigningKey};

/// A function that signs a message, not its hash, with this scheme. The MASA awaits it in a task of its own, which goes on
/// when the registrar hangs up.
pub type VoucherSigner = Arc<dyn Fn(SignatureScheme, Vec<u8>) -> Answer<Result<Vec<u8>, CryptoError>> + Send + Sync>;

/// The certificate of the voucher signer, and its key.
pub(super) struct Signer {
    chain: Vec<CertificateDer<'static>>,
    scheme: SignatureScheme,
    /// Whether COSE has the scheme.
    has_cose: bool,
    pub(super) sign: VoucherSigner,
}

impl Signer {
    /// Creates the signer of a key that is in this process. The leaf of `chain` is the key's.
    pub(super) fn new(
        provider: &CryptoProvider,
        chain: Vec<CertificateDer<'static>>,
        key: Arc<dyn SigningKey>,
    ) -> Result<Self, &'static str> {
        let leaf = chain.first().ok_or("holds no certificate")?;
        let is_own = terse_brski::certificate::public_key(leaf).is_ok_and(|own| *own == *key.public_key());
        if !is_own {
            return Err(
                "the private key does not belong to the first certificate; give the pair that was issued together",
            );
        }
        // Whether a form has the scheme is found out with a message that nobody gets.
        let time = UnixTime::since_unix_epoch(Duration::ZERO);
        let fits = |format, scheme| Unsigned::new(format, provider, b"{}", &chain, scheme, time).is_ok();
        let scheme = key.schemes().iter().copied().find(|scheme| fits(Format::CmsJson, *scheme));
        let scheme = scheme.ok_or("vouchers cannot be signed with a key of this kind; use P-256")?;
        let has_cose = fits(Format::CoseCbor, scheme);
        Ok(Self { chain, scheme, has_cose, sign: in_process(key) })
    }

    /// Returns its certificates, its own first.
    pub(super) fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// Whether the key can sign vouchers of this form: COSE has no RSA.
    pub(super) fn has(&self, format: Format) -> bool {
        self.has_cose || format == Format::CmsJson
    }

    /// Signs a voucher.
    pub(super) async fn sign(
        &self,
        provider: &CryptoProvider,
        format: Format,
        voucher: &Voucher,
        time: UnixTime,
    ) -> Result<Vec<u8>, String> {
        let content = format.encode_voucher(voucher);
        let unsigned = Unsigned::new(format, provider, &content, &self.chain, self.scheme, time)
            .map_err(|error| error.to_string())?;
        let signature =
            (self.sign)(self.scheme, unsigned.message().to_vec()).await.map_err(|error| error.to_string())?;
        unsigned.signed(&signature).map_err(|error| error.to_string())
    }

    /// Signs what is no voucher, and cannot be read as one, with CMS.
    pub(super) async fn sign_data(
        &self,
        provider: &CryptoProvider,
        content: &[u8],
        time: UnixTime,
    ) -> Result<Vec<u8>, String> {
        let unsigned = cms::Unsigned::data(provider, content, &self.chain, self.scheme, Some(time))
            .map_err(|error| error.to_string())?;
        let signature =
            (self.sign)(self.scheme, unsigned.message().to_vec()).await.map_err(|error| error.to_string())?;
        Ok(unsigned.signed(&signature))
    }
}

/// Signs on a thread that may block.
fn in_process(key: Arc<dyn SigningKey>) -> VoucherSigner {
    Arc::new(move |scheme, message| {
        let key = key.clone();
        Box::pin(async move {
            let sign = move || key.sign(scheme, &message, &mut OsRng)?.done().ok_or(CryptoError::SigningFailed);
            tokio::task::spawn_blocking(sign).await.unwrap_or(Err(CryptoError::SigningFailed))
        })
    })
}
