// The table of optimizers and their keys.
#include <nlohmann/json.hpp>

#include "algorithms/optimizers/common.hpp"
#include "algorithms/optimizers/optimizer_spec.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {
namespace {

using base::Parameter;

std::vector<Parameter> moments_parameters(const std::string& weight_decay) {
    return {optimizer_key("lr", "0.001"),
            Parameter::numbers("betas", "[0.9, 0.999]", "decay rates of the two moments")
                .at_least(0)
                .at_most(1),
            Parameter::number("eps", "1e-8", "added to the root of the second moment").at_least(0),
            optimizer_key("weight_decay", weight_decay),
            optimizer_key("decay"),
            optimizer_key("clip_norm")};
}

/// The defaults are those of torch.optim.
std::vector<Parameter> adam_parameters(const std::string& weight_decay) {
    std::vector<Parameter> out = moments_parameters(weight_decay);
    out.push_back(Parameter::flag("amsgrad", "false",
                                  "divides by the largest second moment so far (AMSGrad)"));
    out.push_back(
        Parameter::flag("bias_correction", "true", "corrects for moments that start at 0"));
    return out;
}

/// The default window is Decent-DP's.
std::vector<Parameter> accum_adam_parameters(const std::string& weight_decay) {
    std::vector<Parameter> out = moments_parameters(weight_decay);
    out.push_back(Parameter::integer(
                      "window", "4",
                      "updates per change of the moments, which use the window's mean gradient")
                      .at_least(1));
    return out;
}

/// Checks rules that concern more than one key, or that a range cannot express.
void check_combinations(const base::Json& spec, const std::string& pointer) {
    if (spec.value("nesterov", false) && spec.at("momentum") == 0) {
        throw base::UserError(pointer +
                              "/nesterov: needs momentum (it looks ahead along the velocity, and "
                              "momentum is 0): set momentum, for example to 0.9, or nesterov to "
                              "false");
    }
    if (!spec.contains("betas")) return;
    const auto& betas = spec.at("betas");
    if (betas.size() != 2) {
        throw base::UserError(pointer + "/betas: must be two numbers (found " +
                              base::short_text(betas) + "), for example [0.9, 0.999]");
    }
    for (size_t i = 0; i < 2; ++i) {
        if (betas[i] < 1) continue;
        throw base::UserError(pointer + "/betas/" + std::to_string(i) +
                              ": must be less than 1 (the moment would never change)");
    }
}

}  // namespace

const std::vector<OptimizerEntry>& optimizer_table() {
    static const std::vector<OptimizerEntry> table = {
        {{"sgd",
          "stochastic gradient descent, optionally with momentum",
          {optimizer_key("lr", "0.1"),
           Parameter::number("momentum", "0", "share of the velocity that each update keeps")
               .at_least(0)
               .at_most(1),
           Parameter::flag("nesterov", "false", "uses Nesterov momentum (looks one step ahead)"),
           optimizer_key("weight_decay", "0"), optimizer_key("decay"), optimizer_key("clip_norm")}},
         make_sgd},
        {{"adam", "Adam (Kingma and Ba 2015) with coupled decay", adam_parameters("0")}, make_adam},
        {{"adamw", "AdamW (Loshchilov and Hutter 2019) with decoupled decay",
          adam_parameters("0.01")},
         make_adamw},
        {{"accum_adam",
          "Adam whose moments use mean gradients over a window (Decent-DP), with coupled decay",
          accum_adam_parameters("0")},
         make_accum_adam},
        {{"accum_adamw",
          "AdamW whose moments use mean gradients over a window (Decent-DP), with decoupled decay",
          accum_adam_parameters("0.01")},
         make_accum_adamw},
    };
    return table;
}

base::Json resolve_optimizer(const base::Json& given, const std::string& pointer) {
    base::Json out =
        base::resolve_member(given, pointer, "optimizer", base::entries_of(optimizer_table()));
    check_combinations(out, pointer);
    return out;
}

}  // namespace dbench::algorithms
