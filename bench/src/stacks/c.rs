//! The peers in C are OpenSSL, wolfSSL, Mbed TLS, GnuTLS and BoringSSL, each behind the `struct peer` of a shared
//! object (`c/peer.h`).
//!
//! `unsafe` is needed because everything here is a call to C. What must always hold: the structs are those of
//! `c/peer.h`; an object stays loaded as long as the process, and so do its worlds; a connection is ended once.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::NonNull;
use std::ffi::CString;
use std::sync::OnceLock;

use libloading::os::unix::{Library as Object, RTLD_LOCAL, RTLD_NOW};
use terse_interop::pki::{Holder, Pki, SERVER_NAME, Side as Holds};
use terse_pki::to_pem;

use crate::clock;
use crate::compile::{Library, Purpose};
use crate::pipe::{Pipe, Wire};
use crate::stack::{End, Mode, Profile, Setting, Side, Stack, Version, World};

/// A peer in C.
pub(super) struct Peer {
    name: &'static str,
    library: Library,
    /// The functions, by [`Version`].
    functions: [OnceLock<Result<&'static Functions, String>>; 4],
}

#[repr(C)]
struct Functions {
    version: extern "C" fn() -> *const c_char,
    world: unsafe extern "C" fn(*const Settings) -> *mut c_void,
    connect: unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void,
    handshake: unsafe extern "C" fn(*mut c_void, *mut Pipe, *mut Pipe) -> c_int,
    resumed: unsafe extern "C" fn(*mut c_void) -> c_int,
    read: unsafe extern "C" fn(*mut c_void, *mut Pipe, *mut Pipe, *mut u8, usize) -> c_long,
    write: unsafe extern "C" fn(*mut c_void, *mut Pipe, *mut Pipe, *const u8, usize) -> c_int,
    deadline: Option<unsafe extern "C" fn(*mut c_void) -> i64>,
    expire: Option<unsafe extern "C" fn(*mut c_void, *mut Pipe, *mut Pipe) -> c_int>,
    end: unsafe extern "C" fn(*mut c_void),
    error: extern "C" fn() -> *const c_char,
}

#[repr(C)]
struct Settings {
    name: *const c_char,
    root: *const c_char,
    chain: [*const c_char; 2],
    key: [*const c_char; 2],
    tls13: c_int,
    datagrams: c_int,
    cookie: c_int,
    mtu: usize,
    rsa: c_int,
    resumes: c_int,
    now: extern "C" fn() -> i64,
}

const WAITS: c_int = 0;
const DONE: c_int = 1;
const FAILED: c_int = -1;
const NEVER: i64 = i64::MAX;

impl Peer {
    pub(super) const fn new(name: &'static str, library: Library) -> Self {
        Self { name, library, functions: [const { OnceLock::new() }; 4] }
    }

    fn functions(&self, version: Version) -> Result<&'static Functions, String> {
        self.functions[version as usize].get_or_init(|| load(self.library, version)).clone()
    }

    /// Returns a version that the peer has.
    const fn first_version(&self) -> Version {
        if matches!(self.library, Library::BoringSsl) { Version::Dtls13 } else { Version::Tls12 }
    }
}

fn load(library: Library, version: Version) -> Result<&'static Functions, String> {
    let path = library.object(Purpose::Handshakes(version))?;
    // SAFETY: the object is ours; loading it runs nothing but what its library does at its start.
    let object = unsafe { Object::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| error.to_string())?;
    // SAFETY: `peer` is a constant `struct peer`, of which `Functions` is the declaration here.
    let peer = unsafe { object.get::<*const Functions>(b"peer\0") }.map_err(|error| error.to_string())?;
    let peer = peer.into_raw().cast::<Functions>();
    core::mem::forget(object);
    // SAFETY: the symbol's address is that of the constant, and the object stays loaded.
    Ok(unsafe { &*peer })
}

fn text(text: *const c_char) -> String {
    // SAFETY: peers give texts that end with a zero and stay until the next call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Stack for Peer {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> Result<String, String> {
        Ok(text((self.functions(self.first_version())?.version)()))
    }

    fn has(&self, setting: Setting) -> bool {
        // wolfSSL for small devices is built without a session cache, and without it clients have no sessions either.
        let resumes = self.library != Library::WolfSslLow;
        let has_version = match setting.version {
            Version::Tls12 | Version::Tls13 | Version::Dtls12 => self.library != Library::BoringSsl,
            Version::Dtls13 => matches!(self.library, Library::WolfSslAsm | Library::WolfSslLow | Library::BoringSsl),
        };
        has_version && (setting.mode == Mode::Full || (setting.mode == Mode::Resumed && resumes))
    }

    fn makes_cookies(&self) -> bool {
        self.library != Library::BoringSsl
    }

    fn is_timed(&self) -> bool {
        !matches!(self.library, Library::OpenSsl | Library::GnuTls)
    }

    fn world(&self, setting: Setting) -> Result<Box<dyn World>, String> {
        let functions = self.functions(setting.version)?;
        let pki = Pki::shared(setting.profile.chain(), None);
        let text = |text: &str| CString::new(text).map_err(|error| error.to_string());
        let issued = [Holds::Client, Holds::Server].map(|side| pki.issued(side, Holder::Member));
        let name = text(SERVER_NAME)?;
        let root = text(&to_pem("CERTIFICATE", &pki.root()))?;
        let chains = [text(&issued[0].chain_pem())?, text(&issued[1].chain_pem())?];
        let keys = [text(&issued[0].key_pem())?, text(&issued[1].key_pem())?];
        let settings = Settings {
            name: name.as_ptr(),
            root: root.as_ptr(),
            chain: [chains[0].as_ptr(), chains[1].as_ptr()],
            key: [keys[0].as_ptr(), keys[1].as_ptr()],
            tls13: c_int::from(setting.version.is_13()),
            datagrams: c_int::from(setting.version.is_datagram()),
            cookie: c_int::from(setting.cookie),
            mtu: setting.mtu,
            rsa: c_int::from(setting.profile == Profile::Rsa3),
            resumes: c_int::from(setting.mode == Mode::Resumed),
            now: clock::milliseconds,
        };
        // SAFETY: the texts live until the call is over; peers copy what they keep.
        let world = NonNull::new(unsafe { (functions.world)(&raw const settings) });
        Ok(Box::new(PeerWorld { functions, world: world.ok_or_else(|| self::text((functions.error)()))? }))
    }
}

struct PeerWorld {
    functions: &'static Functions,
    world: NonNull<c_void>,
}

impl World for PeerWorld {
    fn connect(&self, side: Side) -> Result<Box<dyn End>, String> {
        // SAFETY: the world is one of this peer's.
        let connection = unsafe { (self.functions.connect)(self.world.as_ptr(), c_int::from(side == Side::Server)) };
        let connection = NonNull::new(connection).ok_or_else(|| text((self.functions.error)()))?;
        Ok(Box::new(PeerEnd { functions: self.functions, connection }))
    }
}

struct PeerEnd {
    functions: &'static Functions,
    connection: NonNull<c_void>,
}

impl PeerEnd {
    fn error(&self) -> String {
        text((self.functions.error)())
    }
}

// SAFETY, of all that follows: the connection is one of this peer's, and not ended before `drop`; pipes and slices are
// borrowed for the call.
impl End for PeerEnd {
    fn handshake(&mut self, wire: Wire<'_>) -> Result<bool, String> {
        // SAFETY: as above.
        match unsafe { (self.functions.handshake)(self.connection.as_ptr(), &mut **wire.input, &mut **wire.output) } {
            DONE => Ok(true),
            WAITS => Ok(false),
            _ => Err(self.error()),
        }
    }

    fn mode(&self) -> Mode {
        // SAFETY: as above.
        if unsafe { (self.functions.resumed)(self.connection.as_ptr()) } != 0 { Mode::Resumed } else { Mode::Full }
    }

    fn as_application(self: Box<Self>) -> Box<dyn End> {
        self
    }

    fn write(&mut self, wire: Wire<'_>, data: &[u8]) -> Result<(), String> {
        let connection = self.connection.as_ptr();
        // SAFETY: as above.
        match unsafe {
            (self.functions.write)(connection, &mut **wire.input, &mut **wire.output, data.as_ptr(), data.len())
        } {
            DONE => Ok(()),
            _ => Err(self.error()),
        }
    }

    fn read(&mut self, wire: Wire<'_>, out: &mut [u8]) -> Result<usize, String> {
        let connection = self.connection.as_ptr();
        // SAFETY: as above.
        let len = unsafe {
            (self.functions.read)(connection, &mut **wire.input, &mut **wire.output, out.as_mut_ptr(), out.len())
        };
        usize::try_from(len).map_err(|_| self.error())
    }

    fn deadline(&self) -> Option<u64> {
        // SAFETY: as above.
        let deadline = unsafe { self.functions.deadline?(self.connection.as_ptr()) };
        (deadline != NEVER).then(|| deadline.unsigned_abs())
    }

    fn expire(&mut self, wire: Wire<'_>) -> Result<(), String> {
        let Some(expire) = self.functions.expire else { return Ok(()) };
        // SAFETY: as above.
        match unsafe { expire(self.connection.as_ptr(), &mut **wire.input, &mut **wire.output) } {
            FAILED => Err(self.error()),
            _ => Ok(()),
        }
    }
}

impl Drop for PeerEnd {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { (self.functions.end)(self.connection.as_ptr()) };
    }
}
