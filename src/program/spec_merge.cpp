#include "program/spec_merge.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "program/parse_member.hpp"
#include "program/spec_keys.hpp"
#include "program/spec_tables.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::program {

using base::Json;

namespace {

std::string type_of(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_object() && value.contains("type") && value["type"].is_string()) {
        return value["type"].get<std::string>();
    }
    return "";
}

// Drops the keys that a family member of the new type does not have.
void drop_foreign_keys(Json& object, const std::string& pointer, const Family& family,
                       const std::string& old_type) {
    const std::string type = type_of(object);
    if (type.empty() || type == old_type) return;
    const std::vector<std::string> keys = member_keys(family, type);
    constexpr size_t kMostNamed = 8;
    std::string dropped;
    size_t count = 0;
    Json kept = Json::object();
    for (const auto& item : object.items()) {
        const bool known =
            item.key() == "type" || std::find(keys.begin(), keys.end(), item.key()) != keys.end();
        if (known) {
            kept[item.key()] = item.value();
        } else if (++count <= kMostNamed) {
            dropped += (dropped.empty() ? "" : ", ") + item.key().substr(0, 100);
        }
    }
    if (dropped.empty()) return;
    if (count > kMostNamed) dropped += " and " + std::to_string(count - kMostNamed) + " more";
    base::notice(pointer + ": type is now '" + type + "', which has no " + dropped + ": dropped");
    object = kept;
}

void drop(Json& object, const char* key, const char* reason) {
    if (!object.contains(key)) return;
    object.erase(key);
    base::notice(std::string("/") + key + " is dropped: " + reason);
}

// Turns a number, which stands for all seeds, into an object of them, so that one can be replaced
// and the others stay.
void open_seed(Json& seed) {
    if (!seed.is_number()) return;
    const Json number = seed;
    seed = Json::object();
    for (const std::string& name : train::seed_names()) seed[name] = number;
}

// `family` is that of the value at `pointer`, or null.
void merge_at(Json& target, const Json& patch, const std::string& pointer, const Family* family) {
    if (family) {
        const std::string old_type = type_of(target);
        if (target.is_string()) target = Json{{"type", old_type}};
        const Json object = patch.is_string() ? Json{{"type", patch}} : patch;
        if (!target.is_object() || !object.is_object()) {
            target = patch;
            return;
        }
        const std::string new_type = type_of(object);
        const std::string type = new_type.empty() ? old_type : new_type;
        for (const auto& item : object.items()) {
            const std::string here = pointer + "/" + item.key();
            const Family* inside = family_inside(*family, type, item.key());
            merge_at(target[item.key()], item.value(), here, inside ? inside : family_at(here));
        }
        drop_foreign_keys(target, pointer, *family, old_type);
        return;
    }
    // A duration or batch size in another unit replaces the old one instead of being merged.
    const bool one_of = target.is_object() && patch.is_object() && target.size() == 1 &&
                        patch.size() == 1 &&
                        are_alternatives(target.begin().key(), patch.begin().key());
    if (pointer == "/seed" && patch.is_object()) open_seed(target);
    if (!target.is_object() || !patch.is_object() || one_of) {
        target = patch;
        return;
    }
    for (const auto& item : patch.items()) {
        const std::string here = pointer + "/" + item.key();
        merge_at(target[item.key()], item.value(), here, family_at(here));
    }
}

}  // namespace

void merge_spec(Json& target, const Json& patch) {
    if (patch.is_object() && target.is_object()) {
        if (patch.contains("implementation")) {
            drop(target, "graph", "an implementation is given");
            drop(target, "algorithm", "an implementation is given");
        } else if (patch.contains("graph") || patch.contains("algorithm")) {
            drop(target, "implementation", "a graph or algorithm is given");
        }
    }
    merge_at(target, patch, "", nullptr);
}

namespace {

// Throws UserError if the pointer has an index beyond the end of a list by more than one: JSON
// would fill the gap with nulls.
void check_indices(const Json& target, const std::string& pointer, const std::string& where) {
    const Json nothing;
    const Json* at = &target;
    for (const std::string& key : keys_of(pointer)) {
        const bool number = !key.empty() && key.find_first_not_of("0123456789") == key.npos;
        if (number && !at->is_object()) {
            const size_t entries = at->is_array() ? at->size() : 0;
            if (key.size() > 9 || std::stoul(key) > entries) {
                throw base::UserError(where + ": the list has " + std::to_string(entries) +
                                      " entries: use the index of one of them (from 0), or of the "
                                      "next one");
            }
            at = at->is_array() && std::stoul(key) < entries ? &at->at(std::stoul(key)) : &nothing;
        } else {
            at = at->is_object() && at->contains(key) ? &at->at(key) : &nothing;
        }
    }
}

// Turns shorthands along the pointer into objects, so that keys can be set in them: a family
// member's name becomes an object with this type, a number (such as a batch size) an empty object.
void open_objects(Json& target, const std::string& pointer) {
    Json* at = &target;
    std::string path;
    for (const std::string& key : keys_of(pointer)) {
        path += "/" + key;
        if (!at->is_object() || !at->contains(key)) return;
        at = &at->at(key);
        if (at->is_string() && family_in(target, path)) *at = Json{{"type", *at}};
        if (path == "/seed") open_seed(*at);
        if (at->is_number()) *at = Json::object();
    }
}

// Converts "graph.type" to "/graph/type".
std::string pointer_of(const std::string& key) {
    if (key[0] == '/') return key;
    std::string pointer = "/" + key;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    return pointer;
}

}  // namespace

void apply_setting(Json& target, const std::string& setting) {
    const size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
        throw base::UserError("--set " + setting.substr(0, 200) +
                              ": not of the form KEY=VALUE, such as graph.type=torus");
    }
    const std::string pointer = pointer_of(setting.substr(0, equals));
    const std::string text = setting.substr(equals + 1);
    const std::string where = "--set " + pointer.substr(0, 200);
    if (!base::is_utf8(setting)) {
        throw base::UserError("--set: an argument is not UTF-8 (specs are): write it in UTF-8");
    }
    if (keys_of(pointer).size() > base::kMaxDepth) {
        throw base::UserError(where + "...: has more than " + std::to_string(base::kMaxDepth) +
                              " keys, more than any spec: shorten it");
    }
    check_indices(target, pointer, where);
    const auto declared = parameter_at(target, pointer);
    Json value = parse_value(text, declared ? &*declared : nullptr, where);
    const Family* family = family_in(target, pointer);
    if (value.is_string() && family && text.find(':') != text.npos) {
        value = parse_member(value.get<std::string>(), family->plural);
    }

    const size_t slash = pointer.rfind('/');
    const std::string parent = pointer.substr(0, slash), key = pointer.substr(slash + 1);
    if (key.empty()) throw base::UserError(where + ": the pointer names no key");
    if (pointer == "/base") {
        throw base::UserError(where +
                              ": unknown key outside a file: only a file can name its base, "
                              "because it is read before "
                              "--set: write the key into the spec, or start with the other spec");
    }
    if (parent.empty()) {  // whole families and plain keys are replaced
        Json patch{{key, value}};
        if (target.contains(key)) target.erase(key);
        merge_spec(target, patch);
        return;
    }
    if (pointer.starts_with("/graph/") || pointer.starts_with("/algorithm/")) {
        drop(target, "implementation", "a graph or algorithm is set");
    }
    try {
        const Json::json_pointer parent_pointer(parent);
        open_objects(target, parent);
        if (const Family* of_parent = family_in(target, parent); of_parent && key == "type") {
            Json& object = target[parent_pointer];
            const std::string old_type = type_of(object);
            object["type"] = value;
            drop_foreign_keys(object, parent, *of_parent, old_type);
        } else {
            Json& object = target[parent_pointer];
            if (object.is_object() && object.size() == 1 &&
                are_alternatives(object.begin().key(), key)) {
                object = Json::object();
            }
            target[Json::json_pointer(pointer)] = value;
        }
    } catch (const Json::exception& error) {
        throw base::UserError(where + ": cannot be applied (" + base::reason_of(error) +
                              "): see dbench list spec for the keys");
    }
}

}  // namespace dbench::program
