//! The Linux kernel's command line.

/// The console, and no messages: printing them costs more than what they report.
const CONSOLE: &str = "console=ttyS0 quiet";

/// A kernel that panics ends the machine, where it would loop for ever by itself.
const PANIC: &str = "panic=-1";

/// Initialization that no guest of ours needs, with which a boot costs twice the instructions: self-tests of cryptographic
/// algorithms, of the jitter random generator and of key derivation, tracing's event tables, the certificates of signed
/// modules, BPF's kernel functions and the timing of misaligned accesses.
const CHEAP_BOOT: &str = "cryptomgr.notests=1 initcall_blacklist=trace_eval_init,jent_mod_init,\
    load_system_certificate_list,bpf_tcp_ca_kfunc_init,bpf_dummy_struct_ops_init,bpf_sockmap_iter_init,crypto_kdf108_init,\
    init_encrypted,check_unaligned_access_all_cpus,init_kprobe_trace";

/// The command line of a boot, with the user's `extra` parameters last, where they win.
#[must_use]
pub fn kernel_command_line(extra: &str) -> String {
    let parts = [CONSOLE, PANIC, CHEAP_BOOT, extra];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_parameters_come_last() {
        let line = kernel_command_line("loglevel=7");
        assert!(line.starts_with("console=ttyS0 ") && line.ends_with(" loglevel=7"));
        assert!(!line.contains("  "), "one parameter list, though written on several lines");
        assert!(!kernel_command_line("").ends_with(' '));
    }
}
