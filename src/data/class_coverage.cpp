#include "data/class_coverage.hpp"

#include <algorithm>
#include <set>

namespace dbench::data {
namespace {

constexpr size_t kMostListed = 20;  // Classes that a warning names.

/// Returns for each class if the set has a sample of it.
std::vector<bool> classes_present(const Dataset& set) {
    std::vector<bool> present(static_cast<size_t>(set.classes()));
    for (int64_t k = 0; k < set.size(); ++k) present[static_cast<size_t>(set.label(k))] = true;
    return present;
}

/// Returns "the class a" or "the classes a, b (2 of 4)"; classes without names are numbers.
std::string listed_classes(const std::vector<size_t>& classes, const DataSets& sets) {
    std::string text = classes.size() == 1 ? "the class " : "the classes ";
    for (size_t k = 0; k < std::min(classes.size(), kMostListed); ++k) {
        if (k > 0) text += ", ";
        text += sets.classes.empty() ? std::to_string(classes[k]) : sets.classes[classes[k]];
    }
    if (classes.size() > kMostListed) text += ", ...";
    return text + " (" + std::to_string(classes.size()) + " of " +
           std::to_string(sets.train->classes()) + ")";
}

}  // namespace

std::vector<std::string> missing_class_warnings(const DataSets& sets, bool drawn) {
    struct Part {
        const Dataset* set;
        const char *key, *name, *consequence;
    };
    const Part parts[] = {
        {sets.train.get(), "/data", "training",
         "the model cannot learn them; /data/limit and /data/validation cut the samples in the "
         "order of the files, so mix the classes in the files, or cut less"},
        {sets.validation.get(), "/data/validation", "validation",
         "its accuracy says nothing about them; the last training samples are held out, so mix the "
         "classes in the files, or hold out more"},
        {sets.test.get(), "/data", "test",
         "its accuracy says nothing about them; mix the classes in the files, or use more of them"},
    };
    std::vector<std::string> out;
    if (!has_sample_labels(*sets.train)) return out;
    const auto count = static_cast<size_t>(sets.train->classes());
    std::vector<bool> somewhere(count);
    std::vector<std::vector<bool>> present;
    for (const Part& part : parts) {
        present.push_back(part.set ? classes_present(*part.set) : std::vector<bool>(count));
        for (size_t c = 0; c < count; ++c) {
            somewhere[c] = somewhere[c] || drawn || present.back()[c];
        }
    }
    std::vector<size_t> nowhere;
    for (size_t c = 0; c < count; ++c) {
        if (!somewhere[c]) nowhere.push_back(c);
    }
    if (!nowhere.empty()) {
        const bool from_one = sets.classes.empty() && nowhere == std::vector<size_t>{0};
        out.push_back("/data: no sample has " + listed_classes(nowhere, sets) +
                      ", but the model has an output for each: " +
                      (from_one ? "labels count from 0, so subtract 1 if yours count from 1"
                                : "number the classes without gaps, or use more samples"));
    }
    for (size_t k = 0; k < present.size(); ++k) {
        if (!parts[k].set || (drawn && k > 0)) continue;
        std::vector<size_t> missing;
        for (size_t c = 0; c < count; ++c) {
            if (somewhere[c] && !present[k][c]) missing.push_back(c);
        }
        if (missing.empty()) continue;
        out.push_back(std::string(parts[k].key) + ": the " + parts[k].name +
                      " set has no sample of " + listed_classes(missing, sets) + ": " +
                      parts[k].consequence);
    }
    return out;
}

std::optional<int64_t> label_not_among(const std::vector<double>& labels,
                                       const std::vector<double>& known) {
    const std::set<double> all(known.begin(), known.end());
    std::optional<int64_t> smallest;
    for (const double label : labels) {
        const auto number = static_cast<int64_t>(label);
        if (!all.contains(label) && number < smallest.value_or(number + 1)) smallest = number;
    }
    return smallest;
}

}  // namespace dbench::data
