//! Virtual machines (provisional: native only).
use memory::Host;
use mmu::SecondStage;
use types::{Access, Cycles, Gpa, Vmid};
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitReason { Sbi, Wfi, NestedFault, Mmio, ExternalInterrupt }
#[derive(Clone, Debug, Default)]
pub struct ExitCounts { counts: [u64; 5] }
impl ExitCounts {
    pub fn count(&mut self, reason: ExitReason) { self.counts[reason as usize] += 1; }
    pub fn since(&self, e: &Self) -> Self { Self { counts: std::array::from_fn(|i| self.counts[i] - e.counts[i]) } }
    pub fn add(&mut self, e: &Self) { for i in 0..5 { self.counts[i] += e.counts[i]; } }
}
pub struct CostTable { pub l2_tlb_hit: Cycles, pub table_reference: Cycles }
impl CostTable { pub fn of(&self, _: ExitReason) -> Cycles { Cycles(1000) } }
pub enum NestedFaultOutcome { Mapped, Device, Nothing }
pub struct Vm { pub bytes: u64 }
impl Vm {
    pub fn vmid(&self) -> Vmid { Vmid(0) }
    pub fn is_native(&self) -> bool { true }
    pub fn second_stage(&self) -> SecondStage { SecondStage::Constant { ram: Gpa(0x8000_0000)..Gpa(0x8000_0000 + self.bytes), offset: 0 } }
    pub fn nested_fault(&mut self, _: &mut Host, _: Gpa, _: Access) -> NestedFaultOutcome { NestedFaultOutcome::Nothing }
}
pub struct Dma<'a>(&'a mut Host, std::cell::RefCell<Vec<(usize, usize)>>);
impl<'a> Dma<'a> {
    pub fn new(_: &'a mut Vm, host: &'a mut Host) -> Self { Self(host, Default::default()) }
    pub fn into_written(self) -> Vec<(usize, usize)> { self.1.into_inner() }
}
impl devices::DmaMemory for Dma<'_> {
    fn contains(&self, gpa: Gpa, bytes: u64) -> bool { gpa.0 >= 0x8000_0000 && gpa.0.checked_add(bytes).is_some_and(|e| e <= 0x8000_0000 + self.0.memory.len()) }
    fn slice(&self, gpa: Gpa, bytes: usize, access: devices::DmaAccess) -> Result<vm_memory::VolatileSlice<'_>, devices::DmaError> {
        let s = self.0.memory.volatile_slice(types::Hpa(gpa.0), bytes).map_err(|_| devices::DmaError::NotRam(gpa))?;
        if access == devices::DmaAccess::Write { self.1.borrow_mut().push((self.0.memory.pointer(types::Hpa(gpa.0)).unwrap().as_ptr() as usize, bytes)); }
        Ok(s)
    }
}
