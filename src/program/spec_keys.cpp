#include "program/spec_keys.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "data/data_spec.hpp"
#include "program/spec.hpp"
#include "program/spec_tables.hpp"

namespace dbench::program {

using base::Json;
using base::Parameter;

namespace {

constexpr size_t kMostPlaces = 4;  // places that a message names

std::string type_named_by(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_object() || !value.contains("type") || !value["type"].is_string()) return "";
    return value["type"].get<std::string>();
}

std::vector<Parameter> keys_of_entry(const Family& f, const base::Entry& entry) {
    std::vector<Parameter> all = entry.parameters;
    if (f.plural == "data") {
        const auto& more = data::DataSpec::section().parameters();
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

// Returns the keys of a value of `parameter`; `value` is the value in the spec, or null.
std::vector<Parameter> keys_inside(const Parameter& parameter, const Json& value) {
    std::vector<Parameter> all;
    if (!parameter.family.empty()) {
        const Family& f = family(parameter.family);
        const bool missing = value.is_null() && !parameter.default_json.empty();
        std::string type = type_named_by(missing ? Json::parse(parameter.default_json) : value);
        if (type.empty() && parameter.name == "optimizer") type = "sgd";
        std::vector<std::string> types;
        for (const base::Entry* entry : f.entries) {
            types.push_back(entry->name);
            if (entry->name == type) all = keys_of_entry(f, *entry);
        }
        all.push_back(Parameter::choice("type", "", types, ""));
        if (f.plural == "graphs") all.push_back(Parameter::duration("until", "", ""));
        return all;
    }
    const bool duration =
        parameter.kind == Parameter::Kind::duration || parameter.kind == Parameter::Kind::stages;
    if (!duration) return parameter.members;
    for (const auto& unit : parameter.choices) all.push_back(Parameter::number(unit, "", ""));
    return all;
}

// A word without its case and its separators.
std::string plain(const std::string& word) {
    std::string out;
    for (const char c : word) {
        if (c != '_' && c != '-' && c != '.') {
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return out;
}

// Places of keys that other programs call by other names; words are plain.
const std::map<std::string, std::string>& synonyms_of_keys() {
    static const std::map<std::string, std::string> all = {
        {"n", "/replicas"},
        {"workers", "/replicas"},
        {"numworkers", "/replicas"},
        {"nodes", "/replicas"},
        {"numnodes", "/replicas"},
        {"worldsize", "/replicas"},
        {"clients", "/replicas"},
        {"numreplicas", "/replicas"},
        {"learningrate", "/optimizer/lr"},
        {"steplength", "/optimizer/lr"},
        {"rate", "/optimizer/lr"},
        {"epoch", "/length/epochs"},
        {"epochs", "/length/epochs"},
        {"numepochs", "/length/epochs"},
        {"maxepochs", "/length/epochs"},
        {"iterations", "/length/iterations"},
        {"iters", "/length/iterations"},
        {"steps", "/length/iterations"},
        {"numsteps", "/length/iterations"},
        {"maxsteps", "/length/iterations"},
        {"samples", "/length/samples"},
        {"batch", "/data/batch_size"},
        {"bs", "/data/batch_size"},
        {"minibatch", "/data/batch_size"},
        {"trainbatchsize", "/data/batch_size"},
        {"batchsize", "/data/batch_size"},
        {"globalbatchsize", "/data/batch_size/global"},
        {"gradaccumulation", "/data/accumulate"},
        {"gradientaccumulationsteps", "/data/accumulate"},
        {"dtype", "/precision"},
        {"floattype", "/precision"},
        {"amp", "/compute"},
        {"bf16", "/compute"},
        {"gpu", "/device"},
        {"gpus", "/device"},
        {"cuda", "/device"},
        {"dataset", "/data"},
        {"datadir", "/data/root"},
        {"arch", "/model"},
        {"architecture", "/model"},
        {"net", "/model"},
        {"network", "/graph"},
        {"topology", "/graph"},
        {"method", "/algorithm"},
        {"algo", "/algorithm"},
        {"optim", "/optimizer"},
        {"opt", "/optimizer"},
        {"scheduler", "/schedule"},
        {"lrschedule", "/schedule"},
        {"lrscheduler", "/schedule"},
        {"warmup", "/schedule/warmup"},
        {"randomseed", "/seed"},
        {"out", "/output"},
        {"outputfile", "/output"},
        {"result", "/output"},
        {"results", "/output"},
        {"outdir", "/output"},
        {"evalevery", "/evaluate/every"},
        {"evalinterval", "/evaluate/every"},
        {"eval", "/evaluate"},
        {"codec", "/message"},
        {"compression", "/message"},
        {"compressor", "/message"},
        {"iid", "/data/partition"},
        {"split", "/data/partition"},
        {"dataloaderworkers", "/data/threads"},
        {"description", "/notes"},
        {"comment", "/notes"},
        {"wd", "/optimizer/weight_decay"},
        {"clip", "/optimizer/clip_norm"},
        {"gradclip", "/optimizer/clip_norm"},
    };
    return all;
}

// Adds the places below `pointer` at which a key is called `wanted` (plain).
void find_places(const std::vector<Parameter>& keys, const Json& at, const std::string& pointer,
                 const std::string& wanted, std::vector<std::string>& places) {
    static const Json nothing;
    for (const Parameter& p : keys) {
        const std::string here = pointer + "/" + p.name;
        if (plain(p.name) == wanted && p.name != "type") places.push_back(here);
        if (pointer.size() > 200) continue;
        const bool present = at.is_object() && at.contains(p.name);
        const Json& value = present ? at.at(p.name) : nothing;
        // A unit of a duration is everywhere; only those of /length are found, by their synonyms.
        const bool duration =
            p.kind == Parameter::Kind::duration || p.kind == Parameter::Kind::stages;
        if (!duration) find_places(keys_inside(p, value), value, here, wanted, places);
    }
}

// Adds the places in families whose present type has no key called `wanted`, but another type has.
void find_in_other_types(const std::string& wanted, std::vector<std::string>& places) {
    for (const Family& f : families()) {
        for (const base::Entry* entry : f.entries) {
            for (const Parameter& p : entry->parameters) {
                if (plain(p.name) != wanted) continue;
                const std::string place = f.pointer + "/" + p.name;
                if (std::find(places.begin(), places.end(), place) == places.end()) {
                    places.push_back(place);
                }
            }
        }
    }
}

std::string quoted(const std::vector<std::string>& places) {
    std::string text;
    for (size_t k = 0; k < std::min(places.size(), kMostPlaces); ++k) {
        text += (k == 0 ? "'" : " or '") + places[k] + "'";
    }
    return text;
}

}  // namespace

std::vector<std::string> keys_of(const std::string& pointer) {
    std::vector<std::string> keys;
    for (size_t at = 0; at < pointer.size();) {
        const size_t end = std::min(pointer.find('/', at + 1), pointer.size());
        keys.push_back(pointer.substr(at + 1, end - at - 1));
        at = end;
    }
    return keys;
}

std::optional<Parameter> parameter_at(const Json& spec, const std::string& pointer) {
    static const Json nothing;
    std::vector<Parameter> level = spec_parameters();
    std::optional<Parameter> found;
    const Json* at = &spec;
    for (const std::string& key : keys_of(pointer)) {
        const bool index = !key.empty() && key.find_first_not_of("0123456789") == key.npos;
        if (index && found) {  // an entry of a list has the keys of the list
            const bool there = at->is_array() && key.size() < 9 && std::stoul(key) < at->size();
            at = there ? &at->at(std::stoul(key)) : &nothing;
        } else {
            if (found) level = keys_inside(*found, *at);
            const auto match = std::find_if(level.begin(), level.end(),
                                            [&](const Parameter& p) { return p.name == key; });
            if (match == level.end()) return {};
            found = *match;
            at = at->is_object() && at->contains(key) ? &at->at(key) : &nothing;
        }
    }
    return found;
}

const Family* family_in(const Json& spec, const std::string& pointer) {
    if (const Family* found = family_at(pointer)) return found;
    const auto declared = parameter_at(spec, pointer);
    return declared && !declared->family.empty() ? &family(declared->family) : nullptr;
}

bool are_alternatives(const std::string& a, const std::string& b) {
    const auto both_in = [&](std::initializer_list<const char*> words) {
        return std::find(words.begin(), words.end(), a) != words.end() &&
               std::find(words.begin(), words.end(), b) != words.end();
    };
    return a != b &&
           (both_in({"epochs", "iterations", "samples"}) || both_in({"global", "tokens"}));
}

std::string suggest_key(const Json& spec, const std::string& pointer, const std::string& key,
                        const std::vector<std::string>& names) {
    const std::string wanted = plain(key.substr(0, 100));
    for (const std::string& name : names) {
        if (plain(name) == wanted) return "; did you mean '" + name + "'?";
    }
    std::vector<std::string> places;
    find_places(spec_parameters(), spec, "", wanted, places);
    const auto synonym = synonyms_of_keys().find(wanted);
    if (synonym != synonyms_of_keys().end()) places = {synonym->second};
    const auto is_own = [&](const std::string& place) { return place == pointer + "/" + key; };
    std::erase_if(places, is_own);
    if (places.empty() &&
        base::suggest_name(key, names).find("did you mean") == std::string::npos) {
        find_in_other_types(wanted, places);
        // A key of another type of the same family: the keys of this type help more.
        if (std::any_of(places.begin(), places.end(), is_own)) places.clear();
    }
    if (!places.empty()) return "; did you mean " + quoted(places) + "?";
    return names.empty() ? "; the object " + pointer + " has no keys"
                         : base::suggest_name(key.substr(0, 100), names);
}

}  // namespace dbench::program
