#include "program/inputs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "program/provenance.hpp"

namespace dbench::program {

using base::Json;

namespace {

constexpr const char* kProgramKey = "program";  // It stands for no key of the spec.

void add_digests(Json& inputs, const std::string& key,
                 const std::vector<base::InputDigest>& digests) {
    for (const base::InputDigest& each : digests) {
        Json entry{{"key", key}, {"name", each.name}, {"value", each.digest}};
        if (each.bytes >= 0) entry["bytes"] = each.bytes;
        if (!each.path.empty()) entry["path"] = each.path;
        inputs.push_back(std::move(entry));
    }
}

// Returns the name of an input without the form in which a file of MNIST was found, which earlier
// versions recorded: compressed, or with a dot.
std::string plain_name(const Json& input) {
    auto name = input.at("name").get<std::string>();
    if (name.ends_with("-ubyte.gz")) name.resize(name.size() - 3);
    const size_t dot = name.find(".idx");
    if (name.ends_with("-ubyte") && dot != name.npos) name[dot] = '-';
    return name;
}

// True if the entries describe the same input, which may have changed.
bool same_input(const Json& a, const Json& b) {
    return a.at("key") == b.at("key") && plain_name(a) == plain_name(b);
}

// Returns the input's name for messages: its path, followed by what the digest is of if that is a
// part of the path.
std::string input_title(const Json& input) {
    const auto name = input.at("name").get<std::string>();
    const std::string path = input.value("path", "");
    if (path.empty()) return name;
    return path.ends_with(name) ? path : path + " (" + name + ")";
}

std::string difference_of(const Json& now, const Json& then) {
    const std::string name = input_title(now);
    const auto value = [](const Json& input) { return input.at("value").get<std::string>(); };
    if (now.contains("bytes") && then.contains("bytes") && now["bytes"] != then["bytes"]) {
        return name + " has " + now["bytes"].dump() + " bytes instead of " + then["bytes"].dump();
    }
    const bool digests = value(now).starts_with("crc32:");
    return name + (digests ? " has other content (" : " is ") + value(now) + " instead of " +
           value(then) + (digests ? ")" : "");
}

// True for a list as inputs_of returns it. A damaged or foreign file may hold anything.
bool is_input_list(const Json& inputs) {
    return inputs.is_array() && std::all_of(inputs.begin(), inputs.end(), [](const Json& input) {
               return input.is_object() && input.value("key", Json()).is_string() &&
                      input.value("name", Json()).is_string() &&
                      input.value("value", Json()).is_string() &&
                      input.value("path", Json("")).is_string() &&
                      input.value("bytes", Json(0)).is_number();
           });
}

struct Difference {
    std::string key, text;
};

// Returns how the inputs of `now` differ from those of `then`. Entries that are equally named are
// compared in order. `complete`: inputs that only one of them has are differences.
std::vector<Difference> differences(const Json& now, const Json& then, bool complete) {
    std::vector<Difference> found;
    const auto add = [&](const Json& input, const std::string& text) {
        found.push_back({input.at("key").get<std::string>(), text});
    };
    std::vector<bool> used(then.size(), false);
    for (const Json& input : now) {
        size_t k = 0;
        while (k < then.size() && (used[k] || !same_input(input, then[k]))) ++k;
        if (k == then.size()) {
            if (complete) add(input, input_title(input) + " is an additional input");
            continue;
        }
        used[k] = true;
        if (input.at("value") != then[k].at("value")) add(input, difference_of(input, then[k]));
    }
    for (size_t k = 0; k < then.size() && complete; ++k) {
        if (!used[k]) add(then[k], input_title(then[k]) + " is missing");
    }
    return found;
}

std::string joined(const std::vector<Difference>& all) {
    constexpr size_t kMost = 4;
    std::string text;
    for (size_t k = 0; k < std::min(kMost, all.size()); ++k) text += (k ? "; " : "") + all[k].text;
    if (all.size() > kMost) text += "; and " + std::to_string(all.size() - kMost) + " more";
    return text;
}

}  // namespace

Json inputs_of(const std::vector<base::InputDigest>& graph, const train::Session& session) {
    Json inputs = Json::array();
    add_digests(inputs, "/graph", graph);
    add_digests(inputs, "/model", session.model_digests());
    add_digests(inputs, "/data", session.data_digests());
    for (const auto& [name, value] : session.data_sizes()) {
        inputs.push_back({{"key", "/data"}, {"name", name}, {"value", value}});
    }
    return inputs;
}

void require_same_inputs(comm::World& world, const Json& inputs) {
    if (world.size() == 1) return;
    Json mine = inputs;
    for (const auto& [name, value] : build_facts()) {
        if (name != "dbench" && name != "LibTorch") continue;  // Others may depend on the host.
        mine.push_back({{"key", kProgramKey}, {"name", name}, {"value", value}});
    }
    const std::vector<std::string> all =
        world.all_gather(Json{{"host", world.host()}, {"inputs", mine}}.dump(
            -1, ' ', false, Json::error_handler_t::replace));
    const Json first = Json::parse(all.front());
    std::string text, key;
    size_t others = 0;
    for (size_t rank = 1; rank < all.size(); ++rank) {
        if (all[rank] == all.front()) continue;
        const Json each = Json::parse(all[rank]);
        const auto found = differences(each.at("inputs"), first.at("inputs"), true);
        if (found.empty()) continue;
        if (!text.empty()) {
            ++others;
            continue;
        }
        key = found.front().key;
        text = "rank " + std::to_string(rank) + " on host " + each.at("host").get<std::string>() +
               " reads other input than rank 0 on host " + first.at("host").get<std::string>() +
               ": " + joined(found);
    }
    if (text.empty()) return;
    if (others > 0) {
        text += " (" + std::to_string(others) + " more ranks also differ from rank 0)";
    }
    if (key == kProgramKey) {
        throw base::UserError("the ranks run different programs: " + text +
                              ": start the same program on all hosts");
    }
    throw base::UserError(key + ": " + text +
                          ": copy the same files to all hosts, or name files that all hosts share");
}

Json parsed_inputs(const std::string& text) {
    Json inputs = Json::accept(text) ? Json::parse(text) : Json(nullptr);
    return is_input_list(inputs) ? inputs : Json(nullptr);
}

Json recorded_inputs(const std::string& provenance) {
    if (!Json::accept(provenance)) return nullptr;
    const Json all = Json::parse(provenance);
    if (!all.is_object()) return nullptr;
    if (all.contains("inputs")) return is_input_list(all["inputs"]) ? all["inputs"] : Json(nullptr);
    Json inputs = Json::array();
    if (!all.contains("data") || !all["data"].is_object()) return nullptr;
    for (const auto& item : all["data"].items()) {
        inputs.push_back(
            {{"key", "/data"}, {"name", item.key()}, {"value", item.value()}, {"partial", true}});
    }
    return inputs.empty() || !is_input_list(inputs) ? Json(nullptr) : inputs;
}

std::string input_changes(const Json& then, const Json& now) {
    const bool partial = std::any_of(then.begin(), then.end(),
                                     [](const Json& input) { return input.contains("partial"); });
    return joined(differences(now, then, !partial));
}

}  // namespace dbench::program
