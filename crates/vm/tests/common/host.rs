//! A host that records its calls and answers by a rule.

use keel_abi::bpf::{CallSite, FaultKind, Frequent, FuncId, Host, Reply, Usage};
use keel_abi::{CpuId, Instant};
use keel_vm::memory::VmWorld;

/// One call, as seen by the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub cpu: CpuId,
    pub func: FuncId,
    pub args: [u64; 5],
    pub usage: Usage,
    pub again: bool,
}

/// Helper 1 sums its arguments, 2 suspends once and then does the same, 3 stops the program, 4 panics. Any other
/// returns its number.
#[derive(Default)]
pub struct Mock {
    pub calls: Vec<Call>,
    /// The usage when a callback asked for its turn.
    pub turns: Vec<Usage>,
    /// Suspend calls of helper 1 and turns too, by these draws.
    pub suspend: Vec<bool>,
}

impl Mock {
    fn draw(&mut self) -> bool {
        if self.suspend.is_empty() {
            false
        } else {
            self.suspend.rotate_left(1);
            self.suspend[0]
        }
    }
}

/// The arguments that the function takes: an engine may leave anything in the others.
fn taken(func: FuncId, args: &[u64; 5]) -> [u64; 5] {
    let takes = Frequent::helper(func.0 as i32).map_or(args.len(), Frequent::args);
    std::array::from_fn(|i| if i < takes { args[i] } else { 0 })
}

impl Host<VmWorld> for Mock {
    fn call(&mut self, site: CallSite<'_, VmWorld>, func: FuncId, args: &[u64; 5]) -> Reply {
        let (again, args) = (site.again, &taken(func, args));
        self.calls.push(Call { cpu: site.cpu, func, args: *args, usage: site.usage, again });
        let sum = args.iter().fold(0u64, |a, b| a.wrapping_mul(31).wrapping_add(*b));
        match func.0 {
            1 if !again && self.draw() => Reply::Suspend,
            1 => Reply::Value(sum),
            2 if !again => Reply::Suspend,
            2 => Reply::Value(args.iter().sum()),
            3 => Reply::Stop(Box::new(FaultKind::BadCall("helper 3 is forbidden".into()))),
            4 => panic!("the host has a defect"),
            n => Reply::Value(u64::from(n)),
        }
    }

    fn turn(&mut self, _: CpuId, usage: Usage, again: bool) -> Option<Instant> {
        self.turns.push(usage);
        (again || !self.draw()).then_some(Instant::ZERO)
    }
}
