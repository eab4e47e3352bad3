//! Probe.
#![no_std]
extern crate alloc;
use alloc::vec::Vec;
use alloc::vec;
use alloc::sync::Arc;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::ptr::addr_of_mut;
use embedded_alloc::LlffHeap;
use pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng};
use terse_tls::{ClientConfig, Connection, Credential, Instant, Now, ServerAddress};

#[global_allocator]
static HEAP: LlffHeap = LlffHeap::empty();
/// b
pub fn begin() {
    static mut MEMORY: [MaybeUninit<u8>; HEAP_LEN] = [MaybeUninit::uninit(); HEAP_LEN];
    unsafe { HEAP.init(addr_of_mut!(MEMORY) as usize, HEAP_LEN) };
}
const HEAP_LEN: usize = 32 * 1_024;
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop { cortex_m::asm::nop(); }
}
const UART1: usize = 0x4000_5000;
fn read(offset: usize) -> u32 { unsafe { ((UART1 + offset) as *const u32).read_volatile() } }
fn write(offset: usize, v: u32) { unsafe { ((UART1 + offset) as *mut u32).write_volatile(v) } }
/// b
pub struct Board;
impl Board {
    fn receive(&mut self, out: &mut [u8]) -> usize {
        let mut len = 0;
        while len < out.len() && read(4) & 2 != 0 { out[len] = read(0) as u8; len += 1; }
        len
    }
    fn transmit(&mut self, bytes: &[u8]) { for b in bytes { while read(4) & 1 != 0 {} write(0, (*b).into()); } }
    fn now(&mut self) -> Now { Now::new(Instant(read(0x100).into()), Some(UnixTime::since_unix_epoch(core::time::Duration::from_secs(read(0x104).into())))) }
}
impl Rng for Board {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> { for b in out { *b = read(0x200) as u8; } Ok(()) }
}
/// b
pub fn item(place: &mut usize) -> Vec<u8> {
    let mut byte = || { let at = *place; *place += 1; if at < 4096 { unsafe { ((0xff000 + at) as *const u8).read_volatile() } } else {0} };
    let len = usize::from(u16::from_be_bytes([byte(), byte()]));
    if len > 4096 { Vec::new() } else { (0..len).map(|_| byte()).collect() }
}
/// b
pub fn credential(provider: &CryptoProvider, place: &mut usize) -> Credential {
    let chain = vec![CertificateDer::from(item(place))];
    let key = item(place);
    let key = provider.load_key(&PrivatePkcs8KeyDer::from(&key[..]).into()).ok().unwrap();
    Credential::new(chain, key).ok().unwrap()
}
/// b
pub fn run(config: ClientConfig) -> ! {
    let mut board = Board;
    let address = ServerAddress::new("server.example".try_into().ok().unwrap(), 4433);
    let now = board.now();
    let mut connection = Connection::client(Arc::new(config), address, now, &mut board).ok().unwrap();
    let mut buffer = [0; 1200];
    let mut is_sent = false;
    loop {
        let now = board.now();
        let len = board.receive(&mut buffer);
        let mut input = &mut buffer[..len];
        while !input.is_empty() {
            let Ok(taken) = connection.handle_input(now, &mut board, input) else { break };
            input = &mut input[taken..];
        }
        let _ = connection.handle_timeout(now);
        while connection.poll_event().is_some() {}
        if connection.is_connected() && !is_sent { is_sent = connection.send(b"22.5 C").is_ok(); }
        while let Some(len) = connection.poll_transmit(now, &mut buffer) { board.transmit(&buffer[..len]); }
        let len = connection.recv(&mut buffer);
        if len > 0 { connection.close(); }
    }
}
