//! Where to compute, for the verbs that start programs of frameworks: `--device`, what it is where nobody says, and the
//! memory there.

use macml::host::Host;
use macml::sys::memory as of_machine;
use macml::verify::protocol::Device;

/// `--device`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeviceArg {
    /// The GPU of a Mac.
    Mps,
    /// A GPU of NVIDIA.
    Cuda,
    /// The processor alone.
    Cpu,
}

/// What is assumed of the memory of a machine that does not say: as little as any has that runs these frameworks.
pub(crate) const LITTLE: u64 = 8 << 30;

/// Returns where to compute: never silently on the processor.
pub(crate) fn meant(typed: Option<DeviceArg>, host: Option<&Host>) -> Device {
    match (typed, host) {
        (Some(DeviceArg::Mps), _) | (None, Some(_)) => Device::Mps,
        (Some(DeviceArg::Cuda), _) | (None, None) => Device::Cuda,
        (Some(DeviceArg::Cpu), _) => Device::Cpu,
    }
}

/// Returns how many bytes of memory there are, where that is known.
pub(crate) fn memory(host: Option<&Host>) -> Option<u64> {
    host.map(|host| host.memory).or_else(of_machine::total)
}
