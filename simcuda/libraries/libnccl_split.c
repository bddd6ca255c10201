/* Communicators made from one: ncclCommSplit and ncclCommShrink. Every rank offers an id, and the
 * first rank of a new communicator is the one whose id it gets. */
#include <stdlib.h>
#include <string.h>

#include "libnccl.h"

/* What a rank tells the others. */
struct offer {
  int color;
  int order;
  struct id id;
};

/* Without messages, the other ranks are taken to have the same color and order. */
static void assume_offers(const struct operation* o, struct offer* offers) {
  for (int i = 0; i < o->communicator->ranks; ++i)
    offers[i] = (struct offer){.color = o->color, .order = o->order};
}

static int is_excluded(const struct operation* o, int rank) {
  return o->excluded != NULL && o->excluded[rank];
}

static int leave_offer(struct operation* o) {
  struct communicator* communicator = o->communicator;
  const int shrinks = o->excluded != NULL;
  int readers = -1;
  for (int i = 0; i < communicator->ranks; ++i) readers += !is_excluded(o, i);
  o->key = shrinks ? message_key(kShrink, 0, ++communicator->shrinks)
                   : message_key(kCollective, 0, ++communicator->calls);
  struct offer* offer = calloc(1, sizeof *offer);
  if (offer == NULL) return kSystemError;
  o->message = (char*)offer;
  offer->color = o->color;
  offer->order = o->order;
  if (communicator->post == NULL || readers < 1) return kSuccess;
  post_make(&offer->id);
  return post_leave(communicator->post, o->key, offer, sizeof *offer, readers);
}

/* Ranks are ordered by what they asked for, and by their old rank if that is the same. */
static int comes_before(const struct offer* offers, int a, int b) {
  return offers[a].order != offers[b].order ? offers[a].order < offers[b].order : a < b;
}

static int make_child(struct operation* o, const struct offer* offers) {
  const int own = o->communicator->rank;
  int ranks = 0, rank = 0, first = own;
  for (int i = 0; i < o->communicator->ranks; ++i) {
    if (is_excluded(o, i) || offers[i].color != o->color) continue;
    ++ranks;
    rank += i != own && comes_before(offers, i, own);
    if (comes_before(offers, i, first)) first = i;
  }
  const int status = create_communicator(o->result, ranks, rank, &offers[first].id);
  if (first != own || ranks < 2) post_discard(&offers[own].id);
  return status;
}

static int finish_child(struct operation* o) {
  struct communicator* communicator = o->communicator;
  struct offer* offers = calloc((size_t)communicator->ranks, sizeof *offers);
  if (offers == NULL) return kSystemError;
  int status = kSuccess;
  if (communicator->post == NULL) assume_offers(o, offers);
  for (int i = 0; communicator->post != NULL && i < communicator->ranks; ++i)
    if (i != communicator->rank && !is_excluded(o, i) && status == kSuccess)
      status = post_take(communicator->post, i, o->key, 0, &offers[i], sizeof offers[i]);
  memcpy(&offers[communicator->rank], o->message, sizeof *offers);
  if (status == kSuccess && o->color >= 0)
    status = make_child(o, offers);
  else
    post_discard(&offers[communicator->rank].id);
  free(offers);
  free((void*)o->excluded);
  return status;
}

STANDIN_API int ncclCommSplit(struct communicator* from, int color, int key,
                              struct communicator** result, void* config) {
  (void)config;
  enum { kNoColor = -1 };
  if (from == NULL || result == NULL || color < kNoColor) return kInvalidArgument;
  *result = NULL;
  const struct operation operation = {.leave = leave_offer,
                                      .finish = finish_child,
                                      .communicator = from,
                                      .result = result,
                                      .color = color,
                                      .order = key};
  return run_operation(&operation);
}

STANDIN_API int ncclCommShrink(struct communicator* from, const int* excluded, int count,
                               struct communicator** result, void* config, int flags) {
  (void)config, (void)flags;
  if (from == NULL || result == NULL || excluded == NULL || count < 1) return kInvalidArgument;
  *result = NULL;
  unsigned char* marks = calloc((size_t)from->ranks, 1);
  if (marks == NULL) return kSystemError;
  for (int i = 0; i < count; ++i) {
    /* The excluded ranks do not take part. */
    if (excluded[i] < 0 || excluded[i] >= from->ranks || excluded[i] == from->rank) {
      free(marks);
      return kInvalidArgument;
    }
    marks[excluded[i]] = 1;
  }
  const struct operation operation = {.leave = leave_offer,
                                      .finish = finish_child,
                                      .communicator = from,
                                      .result = result,
                                      .excluded = marks};
  return run_operation(&operation);
}
