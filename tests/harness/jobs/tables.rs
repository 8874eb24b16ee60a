//! `TERN_COLL_TABLE`: every algorithm of every collective in real jobs, and what is said of a table that is wrong.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tern_coll::{Algorithm, Choice, Collective, TableRow, algorithms, table::NumberRange};

use super::common::{Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command};
use super::hosts;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "every algorithm by table", run: every_algorithm },
    Test { name: "algorithms by machine, by table", run: by_machine },
    Test { name: "algorithms by multicast, by table", run: by_multicast },
    Test { name: "a table that is wrong", run: wrong_table },
    Test { name: "tern tune writes a table", run: tune },
];

/// A segment that the programs' messages have several of, bytes.
const SEGMENT_BYTES: u64 = 4096;

fn every_algorithm(jobs: &Jobs<'_>) -> Verdict {
    let most = Collective::ALL.iter().map(|collective| algorithms(*collective).len()).max().unwrap_or(0);
    for number in 0..most {
        let text: String =
            Collective::ALL.iter().map(|collective| format!("{}\n", row(*collective, number))).collect();
        let file = table(jobs, &format!("all-{number}"), &text)?;
        for program in ["coll_data", "coll_reduce", "coll_random"] {
            for ranks in [4, 5] {
                let mut command = jobs.mpirun(ranks);
                let outcome =
                    run_command(command.arg(jobs.conformance(program)?).env("TERN_COLL_TABLE", &file))?;
                expect(
                    outcome.success(),
                    &format!("{program} on {ranks} ranks passes with\n{text}"),
                    &outcome,
                )?;
            }
        }
    }
    passed()
}

/// On three nodes, whose ranks follow each other or take turns: by machine wherever there is such an algorithm.
fn by_machine(jobs: &Jobs<'_>) -> Verdict {
    for algorithm in ["hierarchical", "hierarchical-chain"] {
        let rows = Collective::ALL.iter().filter_map(|collective| {
            let algorithm = Algorithm::named(*collective, algorithm)?;
            Some(format!("{}\n", row_for_all(*collective, algorithm)))
        });
        let file = table(jobs, algorithm, &rows.collect::<String>())?;
        let programs = ["coll_data", "coll_reduce", "coll_random"];
        for (program, order) in programs.iter().flat_map(|program| [(program, "slot"), (program, "node")]) {
            let mut command = hosts::mpirun(jobs, "a:3,b:2,c:1");
            command.args(["--map-by", order]).arg(jobs.conformance(program)?);
            let outcome = run_command(command.env("TERN_COLL_TABLE", &file))?;
            expect(outcome.success(), &format!("{program} passes by {order}, {algorithm}"), &outcome)?;
        }
    }
    passed()
}

/// Each rank counts as a machine, and all that can go by multicast does, also where types are compared.
fn by_multicast(jobs: &Jobs<'_>) -> Verdict {
    let rows = Collective::ALL.iter().filter_map(|collective| {
        let algorithm = Algorithm::named(*collective, "multicast")?;
        Some(format!("{}\n", row_for_all(*collective, algorithm)))
    });
    let file = table(jobs, "multicast", &rows.collect::<String>())?;
    for program in ["coll_data", "coll_reduce", "coll_random", "coll_requests", "coll_neighbor"] {
        for (ranks, check) in [(2, ""), (3, "types"), (5, "types,collectives")] {
            let mut command = jobs.mpirun(ranks);
            command.env("TERN_TRANSPORT", "urtp").env("TERN_COLL_TABLE", &file).env("TERN_CHECK", check);
            let outcome = run_command(command.arg(jobs.conformance(program)?))?;
            expect(outcome.success(), &format!("{program} passes on {ranks} ranks, {check}"), &outcome)?;
        }
    }
    passed()
}

/// A row that names the algorithm of this number for every call of a collective; counted around.
fn row(collective: Collective, number: usize) -> TableRow {
    let all = algorithms(collective);
    row_for_all(collective, all[number % all.len()])
}

pub(super) fn row_for_all(collective: Collective, algorithm: Algorithm) -> TableRow {
    let segment_bytes = algorithm.segment_bytes(collective).map_or(0, |_| SEGMENT_BYTES);
    let choice = Choice { algorithm, segment_bytes };
    TableRow { collective, bytes: NumberRange::ANY, ranks: NumberRange::ANY, nodes: NumberRange::ANY, choice }
}

fn wrong_table(jobs: &Jobs<'_>) -> Verdict {
    let file =
        table(jobs, "wrong", "# a comment\nbcast any any any chain\nbarrier any 2-x any dissemination\n")?;
    let program = jobs.conformance("coll_data")?;
    let outcome = run_command(jobs.mpirun(2).arg(&program).env("TERN_COLL_TABLE", &file))?;
    expect_code(&outcome, 16)?;
    expect_said(&outcome, &["MPI_Init", "TERN_COLL_TABLE", "wrong.table, line 3: ranks: '2-x' is no range"])?;
    let missing = file.with_extension("missing");
    let outcome = run_command(jobs.mpirun(2).arg(&program).env("TERN_COLL_TABLE", &missing))?;
    expect_code(&outcome, 16)?;
    expect_said(&outcome, &["TERN_COLL_TABLE", "wrong.missing", "cannot be read"])?;
    passed()
}

fn tune(jobs: &Jobs<'_>) -> Verdict {
    let folder = jobs.options.programs();
    let (rows, params) = (folder.join("tuned.table"), folder.join("tuned.toml"));
    let mut tern = Command::new(jobs.tern());
    tern.args(["tune", "--quick", "--ranks", "2", "--collective", "barrier", "--output"]);
    let outcome = run_command(tern.arg(&rows).arg("--params").arg(&params))?;
    expect(outcome.success(), "tern tune succeeds", &outcome)?;
    let text = fs::read_to_string(&params).map_err(|error| format!("{}: {error}", params.display()))?;
    expect(text.contains("overhead_send_ns"), "the costs of messages are written", &outcome)?;
    let mut command = jobs.mpirun(2);
    let outcome = run_command(command.arg(jobs.conformance("coll_data")?).env("TERN_COLL_TABLE", &rows))?;
    expect(outcome.success(), "the table that was written can be used", &outcome)?;
    passed()
}

pub(super) fn table(jobs: &Jobs<'_>, name: &str, text: &str) -> Result<PathBuf, String> {
    let file = jobs.options.programs().join(format!("{name}.table"));
    let folder = file.parent().expect("a file in a folder");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&file, text))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}
