// A function with its callers and callees.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/function_model.h"
#include "viewer/views/call_table.h"

class QLabel;

namespace memprof::viewer {

class CallersPanel : public QWidget {
  Q_OBJECT

 public:
  CallersPanel(Document* document, Selection* selection, QWidget* parent = nullptr);

  // `functions` as from CallStacks::Functions(). Keeps the chosen function if the new stacks have
  // it; else chooses `first`, or the one that allocates most. Null = nothing to show yet.
  void SetStacks(std::shared_ptr<const analysis::CallStacks> stacks,
                 std::vector<analysis::FunctionCost> functions, std::optional<std::uint32_t> first,
                 bool by_count);
  void SetSearch(const QString& text);
  // The chosen function, then its callers and callees, then all functions.
  void WriteCsv(QTextStream* out) const;

  CallTable* functions() const { return functions_; }
  CallTable* callers() const { return callers_; }
  CallTable* callees() const { return callees_; }
  const FunctionModel& callers_model() const { return *callers_model_; }
  const FunctionModel& callees_model() const { return *callees_model_; }
  QString Title() const;

 private:
  struct Neighbours {
    std::vector<analysis::FunctionCost> callers, callees;
    analysis::StackId stack;  // the costliest through the function
  };

  CallTable* MakeTable(FunctionModel* model, const QString& name);
  void Follow();  // the site selected in another view
  void ChooseRow(const QModelIndex& index);
  // `select`: the user chose it, so its costliest stack becomes the selection.
  void Choose(std::uint32_t function, bool select);
  void Show(Neighbours neighbours, bool select);

  Document* const document_;
  Selection* const selection_;
  std::shared_ptr<const analysis::CallStacks> stacks_;
  bool by_count_ = false;
  std::optional<std::uint32_t> chosen_;
  FunctionModel *functions_model_, *callers_model_, *callees_model_;
  CallTable *functions_, *callers_, *callees_;
  QLabel* title_;
  bool filling_ = false;
  JobTracker job_, follow_job_;
};

}  // namespace memprof::viewer
