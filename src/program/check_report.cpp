#include "program/check_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "program/rank_placement.hpp"
#include "program/result_plan.hpp"
#include "program/resume.hpp"
#include "program/stability.hpp"

namespace dbench::program {

using base::bytes_text;
using base::Json;

namespace {

// Prints from which iteration on each graph is used; of a long list it counts the rest.
void print_stages(const graphs::StagedSchedule& staged) {
    constexpr size_t kMost = 20;
    const auto stages = staged.stages();
    std::cout << "\ngraphs over the run\n";
    for (size_t k = 0; k < std::min(stages.size(), kMost); ++k) {
        std::cout << "  from iteration " << stages[k].first << ": " << staged.name(stages[k].graph)
                  << "\n";
    }
    if (stages.size() > kMost) {
        std::cout << "  ... and " << stages.size() - kMost << " more changes\n";
    }
    if (staged.measure_request()) {
        std::cout << "  then chosen by measurements, from:";
        for (size_t k = 0; k < staged.graphs(); ++k) {
            std::cout << (k ? ", " : " ") << staged.name(k);
        }
        std::cout << "\n";
    }
}

// The parameter of a symmetric Dirichlet distribution that corresponds to the spec's partition;
// nothing for other partitions.
std::optional<double> alpha_per_label(const PreparedRun& s, const data::Heterogeneity& h) {
    const Json& partition = s.spec.resolved.at("data").at("partition");
    if (partition.at("type") != "dirichlet" || h.classes == 0) return std::nullopt;
    return partition.at("alpha").get<double>() / static_cast<double>(h.classes);
}

std::string convention_text(const PreparedRun& s, const data::Heterogeneity& h) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "alpha is the sum over all labels (Hsu et al. 2019): Dirichlet(%.3g, ..., %.3g) "
                  "over %lld labels in papers with one value per label",
                  *alpha_per_label(s, h), *alpha_per_label(s, h),
                  static_cast<long long>(h.classes));
    return text;
}

std::string labels_text(const data::Heterogeneity& h) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "%lld to %lld, mean %.1f of %lld; mean total variation %.3f from the whole set",
                  static_cast<long long>(h.labels_min), static_cast<long long>(h.labels_max),
                  h.labels_mean, static_cast<long long>(h.classes), h.total_variation);
    return text;
}

Json json_of(const data::Heterogeneity& h) {
    return {{"labels", {{"min", h.labels_min}, {"mean", h.labels_mean}, {"max", h.labels_max}}},
            {"classes", h.classes},
            {"total_variation", h.total_variation}};
}

Json json_of(const RankPlacement& rank_placement) {
    const auto seconds = [](std::optional<double> value) {
        return value ? Json(*value) : Json(nullptr);
    };
    return {{"slots", rank_placement.slots},
            {"seconds", seconds(rank_placement.seconds)},
            {"linear_seconds", seconds(rank_placement.linear_seconds)}};
}

Json delays_json(const train::Estimates& e) {
    return {{"replica", e.replica_delay}, {"rank", e.rank_delay}, {"slowest", e.slowest_delay}};
}

std::string delays_text(const train::Estimates& e) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "mean seconds per iteration: %.3g of a replica, %.3g of the most delayed rank, "
                  "%.3g of the slowest rank of each iteration",
                  e.replica_delay, e.rank_delay, e.slowest_delay);
    return text;
}

// Returns the memory of a rank as text: what is counted, and what is not.
std::string memory_text(const Planned& plan) {
    const train::Estimates& e = plan.estimates;
    const int64_t activations = plan.activation_bytes.value_or(0);
    std::string text = bytes_text(static_cast<double>(e.memory_bytes + activations));
    std::string not_counted = activations > 0 ? "" : "activations";
    if (e.data_bytes == 0) not_counted += not_counted.empty() ? "data" : " and data";
    if (!not_counted.empty()) text += " plus " + not_counted;
    const auto include = [&](const std::string& what, int64_t bytes) {
        if (bytes > 0) text += "; includes " + what + " " + bytes_text(static_cast<double>(bytes));
    };
    include("training images", e.data_bytes);
    include(e.link_message_bytes > 0 ? "messages" : "received rows", e.received_bytes);
    include("activations (an estimate)", activations);
    return text;
}

Json stages_json(const graphs::StagedSchedule& staged) {
    Json all = Json::array();
    for (const auto& stage : staged.stages()) {
        all.push_back({{"first", stage.first}, {"graph", staged.name(stage.graph)}});
    }
    return all;
}

Json device_json(const train::Device& device) {
    const auto memory_info = device.memory_info();
    return {{"name", device.name()},
            {"memory_bytes", memory_info ? Json(memory_info->all) : Json(nullptr)},
            {"free_bytes", memory_info ? Json(memory_info->free) : Json(nullptr)}};
}

Json comparisons_json(const PreparedRun& s, const Planned& plan) {
    Json out = Json::object();
    for (const std::string& purpose : purposes())
        out[purpose] = to_json(plan.hindrances(s, purpose));
    return out;
}

}  // namespace

int64_t planned_result_bytes(const PreparedRun& s, const Planned& plan) {
    return result_bytes(s, plan.placement.ranks - s.placement.ranks);
}

void print_check(const PreparedRun& s, const Planned& plan,
                 const std::vector<std::string>& wanted) {
    const train::Estimates& e = plan.estimates;
    const auto& layout = s.session->layout();
    std::cout << s.spec.resolved.dump(2) << "\n\n";
    const auto row = [](const char* name, const std::string& value) {
        std::cout << base::column(name, 23) << value << "\n";
    };
    row("parameters", std::to_string(layout.numel()) + " in " +
                          std::to_string(layout.tensors().size()) + " tensors");
    const train::Session::Load load = s.session->load();
    const auto of_epoch = [&](double each) {
        return std::to_string(std::llround(each * static_cast<double>(e.per_epoch)));
    };
    row("iterations", std::to_string(e.iterations) + " (" + std::to_string(e.per_epoch) +
                          " per epoch, with " + of_epoch(load.samples) + " samples" +
                          (load.tokens > 0 ? ", " + of_epoch(load.tokens) + " tokens)" : ")"));
    row("ranks", std::to_string(plan.placement.ranks) + ", " +
                     std::to_string(plan.placement.count(0)) +
                     " replicas on the rank with the most");
    if (s.rank_placement) row("placement", placement_text(s));
    if (const auto h = s.session->heterogeneity()) {
        row("labels per replica", labels_text(*h));
        if (alpha_per_label(s, *h)) row("dirichlet", convention_text(s, *h));
    }
    const auto memory_info = s.device->memory_info();
    row("device",
        s.device->name() +
            (memory_info ? ", " + bytes_text(static_cast<double>(memory_info->free)) + " free of " +
                               bytes_text(static_cast<double>(memory_info->all))
                         : ""));
    row(memory_info ? "memory on the GPU" : "memory per rank", memory_text(plan));
    if (e.link_message_bytes > 0) {
        row("largest message", bytes_text(static_cast<double>(e.link_message_bytes)) +
                                   " over each link in each direction");
    }
    row("sent per step",
        bytes_text(e.bytes_per_step) + " by all replicas together, as if each had its own rank");
    row("exact variance", e.profile_bytes_per_step > 0
                              ? bytes_text(e.profile_bytes_per_step) +
                                    " per step between ranks, for a reduction of the model's size"
                              : "no traffic");
    char share[32];
    std::snprintf(share, sizeof share, "%.1f %%", 100 * e.evaluation_share);
    row("evaluation", std::string(share) + " of the run's work");
    if (!s.spec.run.delays.empty()) row("delays", delays_text(e));
    const int64_t rows_bytes = planned_result_bytes(s, plan);
    row("result file", bytes_text(static_cast<double>(rows_bytes)) + " before compression, " +
                           bytes_text(static_cast<double>(rows_bytes / e.iterations)) +
                           " per iteration");
    row("output", s.spec.output);
    for (const std::string& purpose : wanted) {
        row(("compares " + purpose).c_str(), purpose_text(plan.hindrances(s, purpose)));
    }
    if (s.certificate) std::cout << "\n" << graphs::to_text(*s.certificate);
    if (s.growth) std::cout << stability_text(s.spec.algorithm, *s.growth);
    if (const auto* staged = s.session->staged()) print_stages(*staged);
}

base::Json check_json(const PreparedRun& s, const Planned& plan,
                      const std::vector<std::string>& warnings) {
    const train::Estimates& e = plan.estimates;
    Json out;
    out["spec"] = s.spec.resolved;
    out["parameters"] = s.session->layout().numel();
    out["tensors"] = s.session->layout().tensors().size();
    out["ranks"] = plan.placement.ranks;
    out["memory_bytes_per_rank"] = e.memory_bytes;
    out["activation_bytes_per_rank"] =
        plan.activation_bytes ? Json(*plan.activation_bytes) : Json(nullptr);
    out["device"] = device_json(*s.device);
    out["link_message_bytes"] = e.link_message_bytes;
    out["bytes_per_step"] = e.bytes_per_step;
    out["profile_bytes_per_step"] = e.profile_bytes_per_step;
    out["result_bytes"] = planned_result_bytes(s, plan);
    out["result_bytes_per_rank"] = result_bytes(s, 1) - result_bytes(s);
    out["free_to_change"] = entries_free_to_change(s.spec.resolved);
    out["iterations"] = e.iterations;
    out["iterations_per_epoch"] = e.per_epoch;
    out["evaluation_share"] = e.evaluation_share;
    out["placement"] = s.rank_placement ? json_of(*s.rank_placement) : Json(nullptr);
    out["delays"] = s.spec.run.delays.empty() ? Json(nullptr) : delays_json(e);
    const auto labels = s.session->heterogeneity();
    out["partition"] = labels ? json_of(*labels) : Json(nullptr);
    if (const auto alpha = labels ? alpha_per_label(s, *labels) : std::nullopt) {
        out["partition"]["alpha_per_label"] = *alpha;
    }
    out["comparisons"] = comparisons_json(s, plan);
    out["graph"] = s.certificate ? graphs::to_json(*s.certificate) : Json(nullptr);
    if (s.growth) out["graph"].update(stability_json(s.spec.algorithm, *s.growth));
    if (const auto* staged = s.session->staged()) out["stages"] = stages_json(*staged);
    out["warnings"] = warnings;
    return out;
}

std::string check_summary(const PreparedRun& s, const Planned& plan) {
    const train::Estimates& e = plan.estimates;
    return std::to_string(s.session->layout().numel()) + " parameters, memory per rank " +
           bytes_text(static_cast<double>(e.memory_bytes + plan.activation_bytes.value_or(0))) +
           ", sent per step " + bytes_text(e.bytes_per_step) + ", " + std::to_string(e.iterations) +
           " iterations (" + std::to_string(e.per_epoch) + " per epoch)";
}

}  // namespace dbench::program
