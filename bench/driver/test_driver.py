"""Tests of the driver's own logic: python3 -m unittest discover -s bench -t bench."""

import unittest

from driver import book, files, ratios, report
from driver.cases import Job, Results, all_cases
from driver.process import Outcome, run
from driver.systems import doubt


def results_of(**values):
    """Results in which each system has one repetition of an 8-byte latency."""
    results = Results()
    for system, (best, median) in values.items():
        results.put("latency", 2, 8, system, best, median)
    return results


class Judging(unittest.TestCase):
    goal = report.Goal("latency", ("latency", 2, 8), 1.0, "peers")

    def verdict(self, **values):
        return report.judge(self.goal, results_of(**values), {"mpich": "MPICH", "intel": "Intel MPI"})["verdict"]

    def test_both_best_and_median_must_meet(self):
        self.assertEqual(self.verdict(tern=(1, 2), mpich=(2, 3)), "met")
        self.assertEqual(self.verdict(tern=(1, 4), mpich=(2, 3)), "met at best, not in the median")
        self.assertEqual(self.verdict(tern=(3, 4), mpich=(2, 3)), "missed")

    def test_no_peer_is_ahead_of_the_reference(self):
        self.assertEqual(self.verdict(tern=(1, 4), mpich=(2, 9), intel=(3, 3.5)), "met at best, not in the median")

    def test_the_median_is_of_ratios_within_a_repetition(self):
        results = Results()
        for mine, theirs in ((1, 2), (10, 20), (3, 2)):
            results.put("latency", 2, 8, "tern", 1, mine)
            results.put("latency", 2, 8, "mpich", 2, theirs)
        self.assertEqual(results.paired("tern", "mpich", "latency", 2, 8), 0.5)
        self.assertEqual(report.judge(self.goal, results, {})["median"], 0.5)
        self.assertIsNone(results.paired("tern", "intel", "latency", 2, 8))

    def test_what_is_absent_is_not_judged(self):
        self.assertEqual(self.verdict(mpich=(2, 3)), "not measured")
        self.assertEqual(self.verdict(tern=(2, 3)), "not measured")


class Groups(unittest.TestCase):
    group = ratios.GROUPS[0]

    def results(self):
        results = Results()
        for ranks, mine in ((2, 0.5), (4, 2.0)):
            results.put("barrier", ranks, 0, "tern", mine, mine)
            results.put("barrier", ranks, 0, "mpich", 4, 4)
            results.put("barrier", ranks, 0, "intel", 1, 1)
        results.put("bcast", 2, 8, "tern", 1, 1)
        return results

    def test_each_case_is_compared_with_its_best_peer(self):
        self.assertEqual(ratios.ratios(self.group, self.results()), {("barrier", 2, 0): (0.5, 0.5), ("barrier", 4, 0): (2, 2)})

    def test_mean_and_worst_case_have_goals(self):
        mean, worst = ratios.goal_rows(self.results())
        self.assertAlmostEqual(mean["best"], 1.0)
        self.assertEqual((worst["best"], worst["verdict"]), (2.0, "missed"))
        self.assertIn("barrier, 4 ranks", worst["what"])

    def test_without_peers_there_is_no_table(self):
        self.assertEqual((ratios.goal_rows(Results()), ratios.ratio_tables(Results())), ([], ""))


class Collecting(unittest.TestCase):
    def test_result_lines_are_found_among_others(self):
        results = Results()
        results.add("tern", Job("latency"), Outcome("warning\nresult latency 8 1e-7 2e-7\n", 1.0, None))
        self.assertEqual(results.get("tern", "latency", 2, 8), (1e-7, 2e-7))

    def test_best_of_a_rate_is_the_highest(self):
        results = Results()
        for best in (5.0, 7.0, 6.0):
            results.put("rate_window", 2, 8, "tern", best, best)
        self.assertEqual(results.get("tern", "rate_window", 2, 8), (7.0, 6.0))

    def test_failure_is_kept(self):
        results = Results()
        results.add("tern", Job("hello", wall="start"), Outcome("", 1.0, "exit status 1"))
        self.assertEqual(results.failures[0]["why"], "exit status 1")
        self.assertIsNone(results.get("tern", "start"))


class OverTcp(unittest.TestCase):
    def results(self, rate):
        results = Results()
        results.add("tern", Job("latency", tcp=True), Outcome("result latency 65536 1.02e-5 2.1e-5\n", 1.0, None))
        results.add("raw", Job("raw_tcp"), Outcome("result raw_tcp_poll 65536 1e-5 2e-5\n", 1.0, None))
        results.add("tern", Job("rate", tcp=True), Outcome(f"result rate_window 8 {rate} {rate}\n", 1.0, None))
        return results

    def verdict(self, what, rate=2e6):
        goal = next(goal for goal in report.tcp_goals() if what in goal.what)
        return report.judge(goal, self.results(rate), {})["verdict"]

    def test_numbers_over_tcp_are_kept_apart(self):
        self.assertIsNone(self.results(1).get("tern", "latency", 2, 65536))

    def test_throughput_is_compared_with_a_polled_socket_of_the_same_size(self):
        self.assertEqual(self.verdict("64 KiB"), "met at best, not in the median")
        self.assertEqual(self.verdict("128 KiB"), "not measured")

    def test_the_rate_has_a_goal_of_its_own(self):
        self.assertEqual((self.verdict("rate"), self.verdict("rate", 9e5)), ("met", "missed"))


class Windows(unittest.TestCase):
    def verdict(self, what, **points):
        results = Results()
        for system, (metric, ranks, parameter, value) in points.items():
            results.put(metric, ranks, parameter, system, value, value)
        goal = next(goal for goal in report.window_goals() if what in goal.what)
        return report.judge(goal, results, {"mpich": "MPICH"})["verdict"]

    def test_a_put_over_tcp_is_a_round_trip(self):
        for value, verdict in ((2.29, "met"), (2.31, "missed")):
            found = self.verdict("TCP put of 8 B", tern=("tcp_put", 2, 8, value), raw=("raw_tcp_poll", 2, 8, 1))
            self.assertEqual(found, verdict)

    def test_contended_elements_are_compared_with_as_many_processes(self):
        for ranks, verdict in ((8, "met"), (2, "not measured")):
            found = self.verdict("accumulate to one element, 8 ranks", tern=("contended_accumulate", 8, 8, 1.4),
                                 raw=("raw_contended_fetch_and_op", ranks, 8, 1))
            self.assertEqual(found, verdict)

    def test_synchronization_of_each_number_of_ranks_has_a_goal(self):
        for ranks in (2, 8, 16):
            found = self.verdict(f"fence, {ranks} ranks", tern=("fence", ranks, 0, 6), mpich=("fence", ranks, 0, 10))
            self.assertEqual(found, "met")


class ReallyTcp(unittest.TestCase):
    output = "result latency 1048576 2e-4 2.5e-4\n"

    def test_messages_that_went_over_loop_back_are_believed(self):
        self.assertEqual(doubt(self.output, 150 << 20), "")

    def test_messages_that_did_not_are_not(self):
        self.assertIn("does not use TCP", doubt(self.output, 1 << 18))
        self.assertIn("does not use TCP", doubt("", 1 << 30))


class BookPage(unittest.TestCase):
    facts = {"cpu": "AMD EPYC 7R13 Processor", "cores": 4, "cores_used": [0, 2], "kernel": "6.1", "system": "Debian 12",
             "memory_gib": 24.0, "load_at_start": 0.1}

    def test_a_page_is_named_by_day_and_processor(self):
        self.assertEqual(book.slug(self.facts["cpu"]), "amd-epyc-7r13")
        self.assertEqual(book.slug("Intel(R) Xeon(R) Platinum 8488C CPU @ 2.40GHz"), "intel-xeon-platinum-8488c")

    def test_the_table_of_contents_has_each_page_once(self):
        summary = "- [How](performance/how.md)\n- [Results: a, b](performance/2026-01-01-a.md)\n- [Fuzzing](performance/fuzzing.md)\n"
        line = "- [Results: c, d](performance/2026-01-02-c.md)"
        longer = book.listed(summary, line)
        self.assertEqual(longer.splitlines()[2], line)
        self.assertEqual(book.listed(longer, line), longer)

    def test_what_was_not_measured_is_not_on_the_page(self):
        row = dict.fromkeys(["goal", "reference", "ratio", "verdict"], "x")
        rows = [row | {"what": "latency", "value": "1 ns"}, row | {"what": "rate", "value": "–"}]
        page = book.page("Results", self.facts, [], 60, rows)
        self.assertIn("| latency |", page)
        self.assertNotIn("rate", page)


class FilesPage(unittest.TestCase):
    facts = {"cpu": "a processor", "cache_folder": "/dev/shm (tmpfs)", "disk_folder": "/d (ext4)"}

    def verdicts(self, mine, gaps):
        results, size = Results(), 64 << 20
        results.put("cache_blocks_write", 2, size, "tern", mine, mine)
        results.put("cache_blocks_write_gaps", 2, size, "tern", gaps, gaps)
        results.put("cache_blocks_write", 2, size, "mpich", 1.0, 1.0)
        results.put("cache_raw_write", 1, size, "raw", 0.5, 0.5)
        rows = [report.judge(goal, results, {}) for goal in files.goals()]
        return [row["verdict"] for row in rows if row["value"] != "–"], files.page(results, [], self.facts, "today", rows)

    def test_rates_are_times_the_other_way_round(self):
        self.assertEqual(self.verdicts(0.6, 0.65)[0], ["met", "met", "met"])
        self.assertEqual(self.verdicts(0.7, 0.9)[0], ["met", "missed", "missed"])
        self.assertEqual(self.verdicts(0.8, 0.8)[0], ["missed", "missed", "met"])

    def test_the_page_has_what_was_measured_only(self):
        self.assertIn("blocks in turn, 2 ranks", self.verdicts(1, 1)[1])
        self.assertNotIn("4 ranks", self.verdicts(1, 1)[1])
        self.assertEqual(files.page(Results(), [], self.facts, "today", []), "")

    def test_shares_are_percents(self):
        self.assertEqual(report.quantity(0.1, "share"), "10 %")


class Running(unittest.TestCase):
    def test_time_out_ends_children_in_other_sessions(self):
        outcome = run(["sh", "-c", "setsid sleep 60 & sleep 60"], timeout=0.5)
        self.assertIn("no end within", outcome.failure)

    def test_missing_program_is_a_failure(self):
        self.assertIn("cannot start", run(["/nonexistent"], timeout=1).failure)


class Words(unittest.TestCase):
    def test_quantities(self):
        self.assertEqual(report.quantity(1.5e-6, "seconds"), "1.5 µs")
        self.assertEqual(report.quantity(5.7e6, "rate"), "5.7 M/s")
        self.assertEqual(report.quantity(2 * 2**20, "bytes"), "2 MiB")

    def test_case_names_are_unique(self):
        names = [case.name for case in all_cases(quick=False)]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
