//! Options that the standard gives to `mpiexec` (MPI 5.0 section 11.5), as far as a whole job shows them.

use super::common::{Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command};

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "initial error handler", run: initial_errhandler },
    Test { name: "soft number of ranks, and a path", run: soft_and_path },
];

/// A wrong rank is fatal, unless errors return from the start; also errors before MPI is initialized.
fn initial_errhandler(jobs: &Jobs<'_>) -> Verdict {
    for (handler, is_fatal) in
        [("mpi_errors_are_fatal", true), ("mpi_errors_abort", true), ("mpi_errors_return", false)]
    {
        for (what, call) in [("fatal", "MPI_Send"), ("before-init", "MPI_Comm_size")] {
            let mut command = jobs.mpirun(2);
            let outcome =
                run_command(command.args(["-initial-errhandler", handler]).arg(jobs.job()?).arg(what))?;
            expect(outcome.success() != is_fatal, &format!("{handler}: {what} is fatal or not"), &outcome)?;
            if is_fatal {
                expect_said(&outcome, &[call])?;
            }
        }
    }
    passed()
}

fn soft_and_path(jobs: &Jobs<'_>) -> Verdict {
    let program = jobs.job()?;
    let (folder, name) = (program.parent().unwrap_or(&program), program.file_name().unwrap_or_default());
    let mut command = jobs.mpirun(4);
    command.args(["-soft", "1:3:2"]).arg("-path").arg(folder).arg(name).arg("hello");
    let outcome = run_command(&mut command)?;
    expect_code(&outcome, 0)?;
    let of_three = outcome.stdout.lines().filter(|line| line.ends_with(" of 3")).count();
    expect(of_three == 3, "three ranks ran", &outcome)?;
    let outcome = run_command(jobs.mpirun(1).args(["-arch", "vax"]).arg(&program))?;
    expect(!outcome.success() && outcome.stderr.contains("vax"), "no vax is found", &outcome)?;
    passed()
}
