#!/usr/bin/env python3
"""Generates mutants: algorithms with one error each, which conformance must detect.

    mutants.py SOURCE_ROOT OUTPUT.cpp

Each mutant is the production source of one or two files with one or two edits, in its own
namespace. The text of an edit must occur exactly once in those files; otherwise the script fails,
and the edit must be adapted to the changed source.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

TYPES = "algorithms/types/"
COMBINED = "void combined(Step& step) override {\n"


class Mutant(NamedTuple):
    name: str                        # names the error; a valid C++ name
    algorithm: str
    files: list[str]                 # paths below SOURCE_ROOT; headers first
    edits: list[tuple[str, str]]     # text and its replacement
    what: str = "algorithm"          # kind of mutant: algorithm, control, or an optimizer


def of(name, algorithm, *edits, file=None, header=None, what="algorithm"):
    files = ([header] if header else []) + [file or f"{TYPES}{algorithm}.cpp"]
    return Mutant(name, algorithm, files, list(edits), what)


def gone(text):
    return (text, "")


def swapped(first, second):
    """Return the edit that swaps two consecutive statements."""
    return (first + second, second + first)


PROBE = "        step.probe.about_to_average(step.x);\n"
OUTER = "algorithms/outer_steps.hpp"
FORMS = "algorithms/mixing_algorithms.hpp"
DELAYED = "algorithms/delayed_mix.hpp"
DESCENT = "algorithms/tracked_descent.hpp"

MUTANTS = [
    # Push-sum.
    of("sgp_forgets_the_others_weights", "sgp",
       ("            w_.unweigh(step, step.x, step.x, all);\n", "")),
    of("osgp_uses_the_latest", "osgp", ("{{message.at(i, 0), own}}", "{{message.at(i, 0), 1.0}}")),
    of("quantized_push_sum_without_its_own_copy", "quantized_push_sum",
       ("{-1, known_}, {1, mixed_}", "{-0.9, known_}, {1, mixed_}")),
    # Compressed messages.
    of("choco_forgets_its_own_copy", "choco", ("{{known_, 1, 0}, ", "{{known_, 0.9, 0}, ")),
    of("choco_hears_twice", "choco", ("{mixed_, 0, 1}}", "{mixed_, 0, 2}}")),
    of("adagossip_counts_from_two", "adagossip", ("beta_, step.t + 1}", "beta_, step.t + 2}"),
       file=f"{TYPES}choco.cpp"),
    of("dcd_without_first_copy", "dcd", ("if (step.t == 0) ", "if (step.t < 0) ")),
    of("ecd_an_iteration_late", "ecd", ("step.t + 1) / 2", "step.t + 2) / 2")),
    of("deepsqueeze_keeps_no_error", "deepsqueeze", ("{error_, -1, 0}", "{error_, -0.5, 0}")),
    of("beer_tracks_without_first_gradient", "beer",
       gone("            step.copy(step.g, tracked_, columns);\n            return;\n")),
    of("beer_sends_one_message_for_both", "beer",
       ("tracker_messages_(context, 1)", "tracker_messages_(context, 0)")),
    of("moniqua_draws_for_each_replica", "moniqua", (".shared = true", ".shared = false")),
    of("moniqua_counts_the_error_of_another", "moniqua",
       ("push_back({messages.at(i, 0), 0})", "push_back({messages.at(0, 0), 0})")),
    of("powergossip_starts_at_once", "powergossip", ("if (step.t > 0 && degree_", "if (degree_")),
    of("powergossip_of_a_difference_from_oneself", "powergossip",
       ("self < one.replica", "true")),
    # Asynchronous algorithms.
    of("ad_psgd_asks_both_ways", "ad_psgd", ("return j > turn.replica ? j : -1;", "return j;")),
    of("ad_psgd_counts_one_averaging_less", "ad_psgd",
       ("return peers.averagings(turn.replica);", "return peers.averagings(turn.replica) - 1;")),
    of("ad_psgd_draws_itself", "ad_psgd", ("            if (link.peer == i) continue;\n", "")),
    of("ad_psgd_draws_once_for_all", "ad_psgd",
       ("{static_cast<uint64_t>(turn.replica), static_cast<uint64_t>(turn.iteration)}",
        "{uint64_t{0}, static_cast<uint64_t>(turn.iteration)}")),
    of("swift_staleness_off_by_one", "swift",
       ("return turn.iteration - peers", "return turn.iteration + 1 - peers")),
    of("swift_takes_its_own_place_in_another_row", "swift",
       ("schedule().in(round, static_cast<int>(turn.replica))",
        "schedule().in(round, static_cast<int>((turn.replica + 1) % replicas()))")),
    # Iteration 0 and values before it.
    of("d2_without_correction", "d2",
       gone("        step.combine(correction_, {{1, correction_}, {share_, change_.rows()}}, "
            "tile.columns);\n"), header=FORMS),
    of("exact_diffusion_corrects_for_all", "exact_diffusion",
       ("{1, correction_}, {share_,", "{1, correction_}, {1,"), header=FORMS),
    of("extra_corrects_for_all", "extra", ("{0.5, change}", "{1, change}")),
    of("diloco_without_first_copy", "diloco",
       gone("        if (step.t == 0) step.copy(step.x, theta_, step.layout.all());\n")),
    of("diloco_sends_again_what_it_has_now", "diloco",
       ("delayed_mix_.finish(step, delay_ == 0 ? step.x : sent_,",
        "delayed_mix_.finish(step, step.x,")),
    of("diloco_averages_nodes_of_the_iteration_before", "diloco",
       gone("        step.copy(mixed, step.x, step.layout.all());\n")),
    of("diloco_keeps_a_share_of_the_mean", "diloco", ("{alpha_, step.x}", "{alpha_, mixed}")),
    *(of(f"{algorithm}_restarts_with_the_matrix_of_now", algorithm,
         ("schedule_->at(step.t - delay_)", "schedule_->at(step.t)"), header=DELAYED)
      for algorithm in ("cocod_sgd", "overlap_local_sgd", "diloco")),
    of("outer_steps_without_first_copy", "noloco",
       gone("        if (step.t == 0) step.copy(step.x, anchor_, step.layout.all());\n"),
       header=OUTER),
    of("slowmo_without_first_copy", "slowmo",
       gone("        if (step.t == 0) step.copy(step.x, anchor_, step.layout.all());\n")),
    of("gut_without_first_copy", "gut", ("if (step.t == 0) {", "if (step.t < 0) {")),
    of("feddkd_taught_by_the_average", "feddkd",
       ("            step.distil(theta,",
        "            if (s == 0) step.copy(step.x, theta, step.layout.all());\n"
        "            step.distil(theta,")),
    of("feddkd_averages_once_less", "feddkd",
       ("step.mix(step.x, step.x);", "if (s > 0) step.mix(step.x, step.x);")),
    of("feddkd_at_temperature_one", "feddkd", ("% period_, temperature_);", "% period_, 1);")),
    of("ntk_dfl_where_its_neighbours_are", "ntk_dfl",
       ("step.linearise(wb, i, block(", "step.linearise((void(wb), step.x.at(i, 0)), i, block(")),
    of("ntk_dfl_flows_before_it_adds", "ntk_dfl",
       ("Outputs f = flow.start()", "Outputs f = flow.after(flow.start(), lr)")),
    of("ntk_dfl_asks_its_neighbours_alone", "ntk_dfl",
       gone("            losses(tried.at(i, 0), i, sum.data());\n")),
    Mutant("ntk_dfl_sums_its_outputs", "ntk_dfl",
           ["algorithms/kernel_flow.hpp", "algorithms/kernel_flow.cpp", f"{TYPES}ntk_dfl.cpp"],
           [gone("            h[a * n + b] /= static_cast<double>(outputs);\n")]),
    # Records.
    of("gradient_tracking_probed_after", "gradient_tracking",
       swapped(PROBE, "        for (const auto& token : parameters) "
                      "step.finish_mix(token, step.x);\n")),
    of("averaged_momentum_probed_after", "averaged_momentum",
       swapped(PROBE, "        for (const auto& token : parameters_) "
                      "step.finish_mix(token, step.x);\n")),
    of("cta_probed_after", "dsgd",
       swapped(PROBE, "        if (averages(step.round)) {\n            combine(step);\n")),
    of("awc_probed_after", "dsgd",
       (PROBE + "        if (averages(step.round)) ex", "        if (averages(step.round)) ex"),
       ("        step.replace_parameters(mixed_);\n    }\n\nprivate:\n    static",
        "        step.replace_parameters(mixed_);\n" + PROBE + "    }\n\nprivate:\n    static")),
    of("dsgd_ac_probed_after", "dsgd_ac", gone(PROBE),
       ("step.probe.averaged(mixed);",
        "step.probe.about_to_average(mixed); step.probe.averaged(mixed);")),
    of("diging_probed_after", "gradient_tracking",
       (PROBE + "        parameters_.start", "        parameters_.start"),
       ("        step.probe.averaged(mixed_.rows());\n",
        "        step.probe.about_to_average(mixed_.rows());\n"), header=DESCENT),
    of("momentum_tracking_tracks_its_gradients", "momentum_tracking",
       ("{beta_ - 1, u_}, {1, step.g}}", "{-1, u_}, {1, step.g}}")),
    of("momentum_tracking_starts_without_past", "momentum_tracking",
       ("{{1 + past, step.g}, {-past, y_}}", "{{1 + 0 * past, step.g}}")),
    of("momentum_tracking_without_decay", "momentum_tracking",
       gone("        step.decay(columns);\n")),
    of("momentum_tracking_probed_after", "momentum_tracking",
       (PROBE + "        parameters_.start", "        parameters_.start"),
       ("        step.probe.averaged(mixed_.rows());\n",
        "        step.probe.about_to_average(mixed_.rows());\n"), header=DESCENT),
    of("gut_probed_after", "gut",
       (PROBE, ""), ("        step.probe.averaged(step.x);\n", PROBE)),
    of("noloco_probes_the_change", "noloco",
       swapped("        step.probe.about_to_average(x);\n",
               "        step.combine(x, {{1, x}, {-1, phi}}, all);  // D\n")),
    of("gasloc_probed_before_the_message", "gasloc",
       swapped("        step.combine(u, {{1 - eta_, theta}, {eta_, u}}, all);\n",
               "        step.probe.about_to_average(u);\n")),
    of("centralized_probed_before_the_update", "centralized", gone(PROBE),
       ("        for (const auto& [token, columns] : pending_) {\n",
        PROBE + "        for (const auto& [token, columns] : pending_) {\n")),
    of("qg_dsgdm_probes_what_is_not_sent", "qg_dsgdm",
       ("        step.probe.about_to_average(message(step));", PROBE.rstrip("\n")), header=FORMS),
    of("decentlam_without_update_norm", "decentlam",
       ("step.apply_direction(message_.rows(), step.x, step.g, columns);",
        "step.combine(message_.rows(), {{1, step.x}, {-step.numbers.lr, step.g}}, columns);")),
    of("exact_diffusion_without_update_norm", "exact_diffusion",
       ("step.apply_direction(change_.rows(), step.x, step.g, columns);",
        "step.combine(change_.rows(), {{1, step.x}, {-step.numbers.lr, step.g}}, columns);"),
       header=FORMS),
    # Rounds without an exchange.
    of("averaged_momentum_rests_with_its_graph", "averaged_momentum",
       swapped("        step.combine(m_, {{beta_, m_}, {1, step.g}}, columns);\n",
               "        if (!averages(step.round)) return;\n")),
    of("decentlam_rests_with_its_graph", "decentlam",
       (COMBINED, COMBINED + "        if (!averages(step.round)) return;\n")),
    of("d_amsgrad_tracks_before_it_steps", "d_amsgrad",
       swapped("        {\n"
               "            const TimedScope scope(step.timers, Time::update);\n"
               "            arena::descend_by_size(step.layout, step.x, mixed_.rows(), first_, "
               "tracker_,\n"
               "                                   step.layout.all(), step.numbers.lr, eps_,\n"
               "                                   step.probe.squared_update(), step.queue);\n"
               "        }\n",
               "        for (const comm::Token& token : trackers_) "
               "step.finish_mix(token, tracker_);\n")),
    of("d_amsgrad_loses_a_growth", "d_amsgrad",
       ("{{1, tracker_}, {1, step.g}}", "{{1, tracker_}}")),
    of("d_amsgrad_adds_the_growth_after_averaging", "d_amsgrad",
       ("step.combine(step.g, {{1, tracker_}, {1, step.g}}, columns);\n"
        "        trackers_.push_back(step.start_mix(step.g, columns));",
        "trackers_.push_back(step.start_mix(tracker_, columns));"),
       ("        trackers_.clear();\n",
        "        trackers_.clear();\n"
        "        step.combine(tracker_, {{1, tracker_}, {1, step.g}}, step.layout.all());\n")),
    # Weight decay.
    of("dadam_without_decay", "dadam",
       ("{ step.decay(columns); }", "{ (void)step, (void)columns; }")),
    of("qg_adam_without_decay", "qg_adam", gone("        step.decay(columns);\n")),
    of("qg_gutm_without_decay", "qg_gutm",
       ("        step.decay(columns);\n", "        if (beta_ == 0) step.decay(columns);\n"),
       file=f"{TYPES}gut.cpp"),
    of("sgd_decays_biases", "dsgd",
       ("decay_(decay_per_tensor(spec, layout))",
        "decay_(std::vector(layout.tensors().size(), spec.weight_decay))"),
       file="algorithms/optimizers/sgd.cpp", what="sgd"),
    of("adam_decays_biases", "dsgd",
       ("decay_(decay_per_tensor(spec, layout))",
        "decay_(std::vector(layout.tensors().size(), spec.weight_decay))"),
       file="algorithms/optimizers/adam.cpp", what="adam"),
    # Controllers.
    of("consensus_control_one_late", "consensus_control",
       ("every_(base::to_iterations(spec.every, run)) {}",
        "every_(base::to_iterations(spec.every, run) + 1) {}"),
       file="graphs/control/consensus_control.cpp", what="control"),
]

HEAD = """// Made by tests/conform/mutants.py.

#include "conform/mutants.hpp"
"""

TABLE = """
namespace mutants {

const std::vector<Mutant>& all() {
    const auto algorithm = [](const std::string& name) {
        return *dbench::base::find_entry(dbench::algorithms::algorithm_table(), name);
    };
    static const std::vector<Mutant> table = [&] {
        std::vector<Mutant> out;
%s
        return out;
    }();
    return table;
}

}  // namespace mutants
"""

def row(mutant):
    """Return the C++ statement that appends the mutant to the table."""
    name, algorithm = mutant.name, mutant.algorithm
    text = f'        out.push_back({{"{name}", '
    if mutant.what == "algorithm":
        return text + f"dbench::algorithms::{name}::{algorithm}_entry(), std::nullopt}});"
    text += f'algorithm("{algorithm}"), std::nullopt}});\n'
    if mutant.what == "control":
        return text + (f"        out.back().row.rules.schedule = [](const auto& spec, auto graph, "
                       f"const auto& run) {{\n            return dbench::graphs::{name}::"
                       "control_consensus(\n                dbench::graphs::ConsensusTargetSpec::"
                       "section().read(spec), std::move(graph), run);\n        };")
    return text + (f"        out.back().optimizer = "
                   f"dbench::algorithms::{name}::{mutant.what}_optimizer();")


def text_of(mutant, root):
    """Return the mutated files in a namespace of the mutant's name, without mutual includes."""
    edits = dict.fromkeys(mutant.edits, 0)
    parts = []
    for file in mutant.files:
        text = (root / file).read_text()
        for old, new in mutant.edits:
            edits[old, new] += text.count(old)
            text = text.replace(old, new)
        includes = re.findall(r"#include .*\n", text)
        own = [f'#include "{other}"\n' for other in mutant.files]
        text = re.sub(r"#(include|pragma) .*\n", "", text)
        opened = re.sub(r"^(namespace dbench::\w+) \{", rf"\1::{mutant.name} {{", text, flags=re.M)
        parts.append("".join(line for line in includes if line not in own) + opened)
    for (old, _), count in edits.items():
        if count != 1:
            sys.exit(f"mutants.py: {mutant.name}: the edited text occurs {count} times in "
                     f"{', '.join(mutant.files)}, instead of once: adapt the edit:\n{old}")
    return "\n".join(parts)


def main():
    root, output = Path(sys.argv[1]), Path(sys.argv[2])
    bodies = [text_of(mutant, root) for mutant in MUTANTS]
    rows = "\n".join(row(mutant) for mutant in MUTANTS)
    output.write_text(HEAD + "\n".join(bodies) + TABLE % rows)


if __name__ == "__main__":
    main()
