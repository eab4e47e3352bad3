//! A manufacturer with its MASA, a domain with its registrar, and devices, all with files that programs of others can read.

use core::net::SocketAddr;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use base64ct::{Base64, Encoding as _};
use terse_net::Clock;
use terse_onboard::masa::{self, DeviceOptions, MasaConfig, MasaService, make_idevid};
use terse_onboard::registrar::{self, Service};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::programs::{Answer, Folder};
use crate::deadline::{Deadline, soon};

/// The serial number of the device.
pub(crate) const SERIAL: &str = "WI-3005";

/// The nonce of its requests.
pub(crate) const NONCE: &str = "AAECAwQFBgcICQoLDA0ODw==";

/// The name in the registrar's certificate.
pub(crate) const REGISTRAR: &str = "registrar.example";

/// Both services. The device is the client `devices/WI-3005.pem`, the manufacturer's root `masa/ca/ca.pem` and the domain's
/// root `domain/ca/ca.pem`.
pub(crate) struct World {
    pub(crate) masa: SocketAddr,
    pub(crate) registrar: SocketAddr,
    /// Where devices of constrained BRSKI arrive.
    pub(crate) coaps: SocketAddr,
    /// Where the list of revoked certificates is, if that is configured.
    pub(crate) crl: Option<SocketAddr>,
    /// Where the health of MASA and registrar is asked for.
    pub(crate) health: [SocketAddr; 2],
    folder: tempfile::TempDir,
    stop: watch::Sender<bool>,
    services: Vec<JoinHandle<()>>,
    /// The services run on its threads, while a test waits for programs.
    runtime: Runtime,
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

impl World {
    /// Starts both services; `enrolment` has further lines of the registrar's `[enrolment]`.
    pub(crate) fn start(enrolment: &str) -> Self {
        Self::start_with("p256x3", enrolment)
    }

    /// Starts both services, with a manufacturer that has chains like `chain`.
    pub(crate) fn start_with(chain: &str, enrolment: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (stop, stopped) = watch::channel(false);
        let (masa, registrar, coaps, crl, health, services) = runtime.block_on(async {
            let at = |name: &str| folder.path().join(name);
            let options = masa::InitOptions {
                out: at("masa"),
                name: "localhost".into(),
                listen: "127.0.0.1:0".parse().unwrap(),
                chain: chain.parse().unwrap(),
                ca_name: "Maker".into(),
                days: 30,
                now: now(),
            };
            masa::init(&options).await.unwrap();
            let mut config = MasaConfig::read(&at("masa/masa.toml")).unwrap();
            config.health = Some("127.0.0.1:0".parse().unwrap());
            make_idevid(&config, SERIAL, &DeviceOptions::default(), &at("devices"), now()).await.unwrap();
            let listener = TcpListener::bind(config.listen).await.unwrap();
            let masa = listener.local_addr().unwrap();
            let mut service = MasaService::open(&config).await.unwrap();
            let masa_health = service.listen_for_health(&config).await.unwrap().unwrap();
            let masa_service = tokio::spawn(service.serve(listener, stopped.clone()));

            let mut options = registrar::InitOptions::new(at("domain"), REGISTRAR.into(), at("masa/ca/ca.pem"));
            options.coaps = Some("127.0.0.1:0".parse().unwrap());
            let config = registrar::init(&options, Clock::new()).unwrap().swap_remove(0); // it comes first
            let text = fs::read_to_string(&config).unwrap();
            let text = text.replace("listen = \"[::]:8443\"", "listen = \"127.0.0.1:0\"\nhealth = \"127.0.0.1:0\"");
            let text = text.replace("devices = \"ask\"", "devices = \"all\"");
            let text = text.replace("[enrolment]", &format!("[enrolment]\n{enrolment}"));
            fs::write(&config, format!("{text}masa_url = \"localhost:{}\"\n", masa.port())).unwrap();
            let service = Service::open(&config, Clock::new()).await.unwrap();
            let listening = service.listen().await.unwrap();
            let (registrar, coaps) = (listening.address(), listening.coaps_address().unwrap());
            let health = [masa_health, listening.health_address().unwrap()];
            let crl = listening.crl_address();
            (masa, registrar, coaps, crl, health, vec![masa_service, tokio::spawn(listening.run(stopped))])
        });
        Self { masa, registrar, coaps, crl, health, folder, stop, services, runtime }
    }

    pub(crate) fn folder(&self) -> Folder<'_> {
        Folder(self.folder.path())
    }

    /// Where the services run.
    pub(crate) const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn stop(self) {
        self.stop.send(true).unwrap();
        self.runtime.block_on(async {
            for service in self.services {
                soon(service).await.unwrap();
            }
        });
    }

    /// The arguments of curl for a request to the registrar, of nobody in particular.
    pub(crate) fn at_registrar(&self, path: &str) -> String {
        let port = self.registrar.port();
        format!("--cacert domain/ca/ca.pem --resolve {REGISTRAR}:{port}:127.0.0.1 https://{REGISTRAR}:{port}{path}")
    }

    /// The arguments of curl for a request of the device to the registrar.
    pub(crate) fn as_device(&self, path: &str) -> String {
        format!("--cert devices/{SERIAL}.pem --key devices/{SERIAL}.key {}", self.at_registrar(path))
    }

    /// The arguments of curl for a request to the MASA.
    pub(crate) fn at_masa(&self, path: &str) -> String {
        format!("--ipv4 --cacert masa/ca/ca.pem https://localhost:{}{path}", self.masa.port())
    }

    /// Sends a request until it is decided.
    #[track_caller]
    pub(crate) fn curl_until_decided(&self, arguments: &str) -> Answer {
        let deadline = Deadline::new();
        loop {
            let answer = self.folder().curl(arguments);
            if answer.status != 202 {
                return answer;
            }
            deadline.check(answer.text());
        }
    }

    /// Writes what the device wants to sign as `request.json`.
    pub(crate) fn write_voucher_request(&self) {
        let folder = self.folder();
        folder.openssl("x509 -in domain/registrar.pem -outform DER -out registrar.der");
        let certificate = Base64::encode_string(&folder.read("registrar.der"));
        let request = format!(
            r#"{{"ietf-voucher-request:voucher": {{
                "assertion": "proximity",
                "created-on": "{}",
                "nonce": "{NONCE}",
                "serial-number": "{SERIAL}",
                "proximity-registrar-cert": "{certificate}"
            }}}}"#,
            folder.now()
        );
        folder.write("request.json", request);
    }

    /// Signs `request.json` as the device, with further options of OpenSSL, and writes it as `request.cms`.
    pub(crate) fn sign_voucher_request(&self, options: &str) {
        self.folder().sign(&format!("devices/{SERIAL}"), options, "request");
    }

    /// Goes through everything up to the open gate of EST, with curl and OpenSSL.
    pub(crate) fn join(&self) {
        self.write_voucher_request();
        self.sign_voucher_request("");
        self.curl_until_decided(&self.posted_voucher_request()).is("application/voucher-cms+json");
        self.folder().write("status.json", r#"{"version": 1, "status": true}"#);
        let status = format!("{JSON} @status.json {}", self.as_device("/.well-known/brski/voucher_status"));
        let answer = self.folder().curl(&status);
        assert_eq!((answer.status, answer.text()), (200, String::new()));
        self.curl_until_decided(&self.as_device("/.well-known/est/cacerts")).is("application/pkcs7-mime");
    }

    /// The arguments of curl that post `request.cms` as the device.
    pub(crate) fn posted_voucher_request(&self) -> String {
        format!("{VOUCHER_CMS_JSON} @request.cms {}", self.as_device("/.well-known/brski/requestvoucher"))
    }
}

/// The arguments of curl that post JSON, with a file to follow.
const JSON: &str = "--header Content-Type:application/json --data-binary";

/// The arguments of curl that post a voucher request, with a file to follow.
pub(crate) const VOUCHER_CMS_JSON: &str = "--header Content-Type:application/voucher-cms+json \
     --header Accept:application/voucher-cms+json --data-binary";
