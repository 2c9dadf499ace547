//! Provisional.
struct C;
impl machine::Console for C {
    fn output(&mut self, bytes: &[u8]) { use std::io::Write; std::io::stdout().write_all(bytes).unwrap(); std::io::stdout().flush().unwrap(); }
    fn input(&mut self) -> std::io::Result<Vec<u8>> { Ok(vec![]) }
    fn idle(&mut self, _: Option<std::time::Duration>) -> bool { false }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut m = machine::trial::native(&std::fs::read(&a[1]).unwrap(), &a[2], 1 << 30, a.get(3).map_or(1, |h| h.parse().unwrap()));
    let t = std::time::Instant::now();
    let o = m.run(&mut C);
    let e = t.elapsed().as_secs_f64();
    let s = m.statistics();
    eprintln!("{o}: {} M instructions in {e:.3} s = {:.1} MIPS; {:?}", s.instructions / 1_000_000, s.instructions as f64 / e / 1e6, s.mmu);
}
