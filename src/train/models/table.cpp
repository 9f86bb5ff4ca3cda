#include <nlohmann/json.hpp>

#include "train/models/entry_helpers.hpp"
#include "train/models/names.hpp"

namespace dbench::train {

// The models in the order of the documentation. Each entry, NAME_model(), is in the model's file.
#define DBENCH_MODELS(ROW)  \
    ROW(softmax_regression) \
    ROW(least_squares)      \
    ROW(mlp)                \
    ROW(cnn)                \
    ROW(resnet20)           \
    ROW(resnet32)           \
    ROW(resnet56)           \
    ROW(resnet110)          \
    ROW(wide_resnet)        \
    ROW(densenet)           \
    ROW(lenet)              \
    ROW(vgg11)              \
    ROW(resnet50)           \
    ROW(lstm)               \
    ROW(gpt)                \
    ROW(transformer)        \
    ROW(exported)

#define ROW_DECLARED(name) ModelEntry name##_model();
#define ROW_MADE(name) name##_model(),
DBENCH_MODELS(ROW_DECLARED)

const std::vector<ModelEntry>& model_table() {
    static const std::vector<ModelEntry> table = {DBENCH_MODELS(ROW_MADE)};
    return table;
}

std::vector<const base::Entry*> model_entries() { return base::entries_of(model_table()); }

std::string model_file(const base::Json& model) {
    return model.at("type") == "exported" ? model.at("path").get<std::string>() : "";
}

}  // namespace dbench::train
